"""Times as people write them: 90s, 30m, 12h, 2d."""

import re

from gpustack_lite.errors import Refusal

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd]?)")


def seconds(given: str) -> float:
    """Without a unit they are seconds.

    Raises:
        Refusal: `duration_not_understood`.
    """
    found = _DURATION.fullmatch(given.strip())
    if found is None:
        raise Refusal("duration_not_understood", given=given)
    return float(found[1]) * _UNITS[found[2]]
