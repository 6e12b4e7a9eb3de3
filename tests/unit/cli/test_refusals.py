from pathlib import Path

from gpustack_lite.cli import refusals
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import SystemDisk


def test_a_refusal_reaches_the_supervisor_once(tmp_path: Path) -> None:
    disk = SystemDisk()
    refusals.leave(disk, tmp_path, "server", Refusal("database_newer", found="9999", known="0001"))
    collected = refusals.collect(disk, tmp_path, "server")
    assert collected is not None
    assert (collected.code, collected.params) == ("database_newer", {"found": "9999", "known": "0001"})
    assert refusals.collect(disk, tmp_path, "server") is None
