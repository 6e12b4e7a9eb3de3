"""LoRA adapters: an option of ours that names directories, for vLLM's own would let anybody read any file."""

import json
import re
from collections.abc import Mapping

from backends.options import OptionValue
from gpustack_lite.errors import Refusal

OPTION = "lora-adapters"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def adapters(values: Mapping[str, OptionValue]) -> dict[str, str]:
    """Name -> directory.

    Raises:
        Refusal: `option_invalid`.
    """
    found = json.loads(str(values.get(OPTION, "{}")))
    for name, path in found.items():
        if not _NAME.fullmatch(name) or not isinstance(path, str) or not path.startswith("/"):
            shown, expected = f"{name}: {path}"[:200], '{"NAME": "/directory"}'
            raise Refusal("option_invalid", param=f"options.{OPTION}", option=OPTION, value=shown, expected=expected)
    return dict(found)


def with_adapters(values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Adapters have to be switched on; how many are worked on in one step is for the user to say."""
    return {**values, **({"enable-lora": True} if adapters(values) else {})}


def told(values: Mapping[str, OptionValue], model: str) -> tuple[str, ...]:
    """`--lora-modules` takes several values, each an object of its own; the engine knows each by its public name."""
    each = [
        json.dumps({"name": f"{model}:{name}", "path": path, "base_model_name": model})
        for name, path in adapters(values).items()
    ]
    return ("--lora-modules", *each) if each else ()
