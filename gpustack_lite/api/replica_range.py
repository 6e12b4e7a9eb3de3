"""`replicas` may be a number, {"min","max"} or "auto(1,4)": the last two are short for `autoscale`."""

import re
from collections.abc import Mapping
from typing import Any

from gpustack_lite.errors import Refusal

_WORDS = re.compile(r"^\s*auto\s*\(\s*(\d{1,6})\s*,\s*(\d{1,6})\s*\)\s*$", re.IGNORECASE)


def spelled_out(given: Any) -> Any:
    """What somebody sent, with the range where it is kept. A number alone ends what followed the load.

    Raises:
        Refusal: `replicas_unreadable`.
    """
    if not isinstance(given, Mapping) or "replicas" not in given:
        return given
    wanted = given["replicas"]
    if isinstance(wanted, str) and wanted.strip().casefold().startswith("auto"):
        wanted = _range(wanted)
    if isinstance(wanted, Mapping):
        rest = {name: value for name, value in given.items() if name != "replicas"}
        finer = given.get("autoscale")
        return rest | {"autoscale": {**finer, **wanted} if isinstance(finer, Mapping) else dict(wanted)}
    return {"autoscale": None, **given}


def _range(text: str) -> dict[str, int]:
    found = _WORDS.match(text)
    if found is None:
        raise Refusal("replicas_unreadable", param="replicas", given=text[:40])
    return {"min": int(found[1]), "max": int(found[2])}
