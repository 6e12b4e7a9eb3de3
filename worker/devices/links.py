"""Which devices reach each other fastest, from the matrices of `npu-smi info -t topo` and `nvidia-smi topo -m`.

Both write one row for each device and one column for each; what follows are CPUs and NUMA nodes. Sources: the legends
that both tools print, recorded outputs of eight 910B3 and of NVLink servers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.devices.text import lines_of

_LABEL = re.compile(r"^(?:NPU|GPU|Phy-ID)(\d{1,6})$")
_FAST = re.compile(r"^(?:HCCS\w*|SIO|XLink|NV\d+)$", re.IGNORECASE)
_CPUS = re.compile(r"^\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*$")
MOST_CPUS = 65536


@dataclass(frozen=True, slots=True)
class Links:
    """`labels` are the numbers in the names of the rows; `cpus` and `numa` by that number where they are told."""

    labels: tuple[int, ...] = ()
    cells: Mapping[tuple[int, int], str] = field(default_factory=dict)
    cpus: Mapping[int, str] = field(default_factory=dict)
    numa: Mapping[int, int] = field(default_factory=dict)

    def groups(self) -> dict[int, int]:
        """The number of its island by label, for those that a fast link reaches; numbered in the order of labels."""
        island = {label: label for label in self.labels}
        for (one, other), kind in self.cells.items():
            if one != other and _FAST.match(kind):
                low, high = sorted((island[one], island[other]))
                island = {label: low if at == high else at for label, at in island.items()}
        shared = sorted({at for at in island.values() if list(island.values()).count(at) > 1})
        return {label: shared.index(at) for label, at in island.items() if at in shared}


def parse(text: str) -> Links:
    """Whatever is no matrix gives empty links."""
    rows = [line.split() for line in lines_of(text)]
    head = next((row for row in rows if _numbers(row[:1])), None)
    labels = tuple(dict.fromkeys(_numbers(head or [])))
    body = [row for row in rows if head is not row and len(row) > len(labels) and _numbers(row[:1])]
    cells: dict[tuple[int, int], str] = {}
    cpus: dict[int, str] = {}
    numa: dict[int, int] = {}
    for row in body:
        label = _numbers(row[:1])[0]
        if label in labels:
            cells |= {(label, other): kind for other, kind in zip(labels, row[1:], strict=False)}
            _affinity(label, row[_column_count(head or []) :], cpus, numa)
    return Links(labels, cells, cpus, numa)


def _numbers(tokens: list[str]) -> list[int]:
    return [int(match[1]) for token in tokens if (match := _LABEL.match(token))]


def _column_count(head: list[str]) -> int:
    """Columns of devices and network cards, and that of the row's own name; `CPU Affinity` ends them."""
    return 1 + (head.index("CPU") if "CPU" in head else len(head))


def _affinity(label: int, rest: list[str], cpus: dict[int, str], numa: dict[int, int]) -> None:
    if rest and _CPUS.match(rest[0]):
        cpus[label] = rest[0]
        if len(rest) > 1 and rest[1].isdigit() and len(rest[1]) < 6:
            numa[label] = int(rest[1])


def cpu_set(text: str) -> frozenset[int]:
    """ "0-3,8" -> {0, 1, 2, 3, 8}; empty for what is no such list."""
    if not _CPUS.match(text):
        return frozenset()
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        found.update(range(int(low[:6]), min(int((high or low)[:6]), MOST_CPUS) + 1))
    return frozenset(found)


def node_of(cpus: str, nodes: Mapping[int, frozenset[int]]) -> int | None:
    """The NUMA node that holds all these CPUs."""
    wanted = cpu_set(cpus)
    return next((node for node, has in sorted(nodes.items()) if wanted and wanted <= has), None)
