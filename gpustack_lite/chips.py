"""Known chips, and the SPEC that declares devices which are not there, such as `8x910B3-64G`."""

import re
from dataclasses import dataclass

from gpustack_lite.domain import Device, DeviceKind
from gpustack_lite.errors import Refusal

GIB = 1024**3
_SPEC = re.compile(r"^(?P<count>[1-9][0-9]{0,3})x(?P<chip>[A-Za-z0-9][A-Za-z0-9_.+]*)-(?P<memory>[1-9][0-9]{0,4})G$")
_CUDA_PREFIXES = (
    "A100",
    "GB10",
    "A800",
    "A10",
    "A30",
    "A40",
    "H100",
    "H200",
    "H20",
    "H800",
    "B200",
    "L4",
    "L20",
    "L40",
    "V100",
    "T4",
    "RTX",
)

_UNIFIED = ("GB10",)
_GROUP_SIZES = {"910B": (4, "hccs"), "DUO": (2, "duo")}
"""Part of a chip's name: how many of its devices make a group, and what the group is called."""


@dataclass(frozen=True, slots=True)
class Declared:
    """`count` devices of one chip, each with `memory_bytes`."""

    count: int
    chip: str
    kind: DeviceKind
    memory_bytes: int


def kind_of(chip: str) -> DeviceKind:
    """The device kind of a chip's name; Huawei's names start with 910 or 310.

    Raises:
        Refusal: `unknown_chip`.
    """
    upper = chip.upper()
    if upper.startswith(("910", "310", "950", "ASCEND", "A2", "A3")) and not upper.startswith("A30"):
        return "ascend"
    if upper.startswith(_CUDA_PREFIXES):
        return "cuda"
    if upper.startswith("MI"):
        return "rocm"
    raise Refusal("unknown_chip", chip=chip)


_FAMILIES = (
    (re.compile(r"^910(C|_93\d\d)"), "a3"),
    (re.compile(r"^910B[1-9]"), "910b"),
    (re.compile(r"^910"), "910"),
    (re.compile(r"^310P"), "310p"),
    (re.compile(r"^310B"), "310b"),
    (re.compile(r"^310"), "310"),
    (re.compile(r"^950"), "950"),
)


def family_of(chip: str) -> str | None:
    """The family by which Huawei builds drivers, CANN and images: 910, 910b (A2), a3, 310p, 310b, 310 or 950 (A5).

    As gpustack-runtime sorts them. 910B1 to 910B4-1 are A2; a plain 910B is what the first 910 calls itself.
    """
    name = chip.removeprefix("Ascend").strip().upper()
    return next((family for pattern, family in _FAMILIES if pattern.match(name)), None)


def parse_spec(spec: str) -> tuple[Declared, ...]:
    """`COUNTxCHIP-MEMORY`, comma-separated for mixtures; memory in GiB.

    Raises:
        Refusal: `bad_simulate_spec` or `unknown_chip`.
    """
    return tuple(_parse_one(part.strip(), spec) for part in spec.split(","))


def _parse_one(part: str, spec: str) -> Declared:
    match = _SPEC.match(part)
    if match is None:
        raise Refusal("bad_simulate_spec", spec=spec[:200])
    chip = match["chip"]
    return Declared(int(match["count"]), chip, kind_of(chip), int(match["memory"]) * GIB)


def declared_devices(worker: str, declared: tuple[Declared, ...]) -> tuple[Device, ...]:
    """The devices of a SPEC, numbered through, each marked as simulated."""
    chips = [each for each in declared for _ in range(each.count)]
    groups = _groups(declared)
    return tuple(
        Device(
            worker=worker,
            index=index,
            physical_id=index,
            serial=f"SIM-{worker}-{index}",
            kind=each.kind,
            chip=each.chip,
            memory_total_bytes=each.memory_bytes,
            memory_used_bytes=0,
            health="ok",
            utilization=0.0,
            simulated=True,
            group=groups[index],
            unified_memory=each.chip.upper().startswith(_UNIFIED),
        )
        for index, each in enumerate(chips)
    )


def _groups(declared: tuple[Declared, ...]) -> list[str | None]:
    """As the chips come in real hosts: 910B boxes have HCCS rings of four cards, a Duo card has two chips."""
    found: list[str | None] = []
    count: dict[str, int] = {}
    for each in declared:
        size, name = _group_of(each.chip)
        first = count.get(name, 0)
        found += [f"{name}-{first + position // size}" if size else None for position in range(each.count)]
        count[name] = first + (-(-each.count // size) if size else 0)
    return found


def _group_of(chip: str) -> tuple[int, str]:
    upper = chip.upper().removeprefix("ASCEND")
    return next((group for mark, group in _GROUP_SIZES.items() if mark in upper), (0, ""))
