"""run/supervisor.json: who supervises, where it answers, and which processes belong to it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpustack_lite.ports import Disk, Identity


@dataclass(frozen=True, slots=True)
class Record:
    """`leaving` are predecessors that still finish what they began."""

    supervisor: Identity
    url: str
    host: str = ""
    port: int = 0
    children: Mapping[str, Identity] = field(default_factory=dict)
    leaving: tuple[Identity, ...] = ()

    @property
    def processes(self) -> tuple[Identity, ...]:
        return (*self.children.values(), *self.leaving)


def write(disk: Disk, path: Path, record: Record) -> None:
    document = {
        **asdict(record.supervisor),
        "url": record.url,
        "host": record.host,
        "port": record.port,
        "children": {role: asdict(identity) for role, identity in record.children.items()},
        "leaving": [asdict(identity) for identity in record.leaving],
    }
    disk.replace(path, json.dumps(document, indent=1).encode())


def read(disk: Disk, path: Path) -> Record | None:
    """None when there is no record, or none that can be understood."""
    try:
        return _parse(json.loads(disk.read(path) or b""))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _parse(document: dict[str, Any]) -> Record:
    return Record(
        supervisor=_identity(document),
        url=str(document["url"]),
        host=str(document["host"]),
        port=int(document["port"]),
        children={str(role): _identity(each) for role, each in document["children"].items()},
        leaving=tuple(_identity(each) for each in document["leaving"]),
    )


def _identity(document: dict[str, Any]) -> Identity:
    return Identity(int(document["pid"]), int(document["start_ticks"]), str(document["boot_id"]))
