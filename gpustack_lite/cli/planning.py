"""`doctor --plan driver=X`: which builds of engines survive another driver, CANN or NVIDIA driver."""

from collections.abc import Sequence
from typing import Any

from backends.compatibility import Change, Host, plan
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import language_of_terminal, text
from worker.devices.detect import Inventory

NAMES = ("driver", "cann", "nvidia_driver")


def changes_of(wanted: Sequence[str]) -> dict[str, str]:
    """Raises:
    Refusal: `bad_plan`.
    """
    pairs = [each.partition("=") for each in wanted]
    for name, sign, version in pairs:
        if name not in NAMES or not sign or not version:
            raise Refusal("bad_plan", given=f"{name}{sign}{version}", names=", ".join(NAMES))
    return {name: version for name, _, version in pairs}


def rows(seen: Inventory, name: str, changes: dict[str, str]) -> list[dict[str, Any]]:
    """Raises:
    Refusal: `plan_without_devices`.
    """
    host = Host.of(seen.host.model_dump(), name)
    chips = sorted({each.chip for each in seen.devices if each.kind in {"ascend", "cuda"}})
    if not chips:
        raise Refusal("plan_without_devices")
    return [_row(chip, each) for chip in chips for each in plan(host, chip, changes)]


def _row(chip: str, change: Change) -> dict[str, Any]:
    after, language = change.after, language_of_terminal()
    return {
        "chip": chip,
        "backend": change.backend,
        "version": change.version,
        "now": change.before.status,
        "then": after.status,
        "code": after.said.code,
        "params": dict(after.said.params),
        "message": text(after.said, language),
        "remedy": None if after.remedy is None else text(after.remedy, language),
        "source": after.source,
    }
