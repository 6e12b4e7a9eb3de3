"""How a child tells its supervisor why it will not run: a file with the code, and an exit code of its own."""

import json
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Disk

EXIT_CODE = 3


def leave(disk: Disk, run: Path, role: str, refusal: Refusal) -> None:
    document = {"code": refusal.code, "params": dict(refusal.params)}
    disk.replace(_path(run, role), json.dumps(document).encode())


def collect(disk: Disk, run: Path, role: str) -> Refusal | None:
    """What the role last refused with; asked once."""
    content = disk.read(_path(run, role))
    if content is None:
        return None
    disk.remove(_path(run, role))
    document = json.loads(content)
    return Refusal(document["code"], **document["params"])


def _path(run: Path, role: str) -> Path:
    return run / f"refused-{role}.json"
