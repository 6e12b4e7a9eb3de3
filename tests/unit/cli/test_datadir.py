import os
from pathlib import Path

from gpustack_lite.cli import datadir
from gpustack_lite.ports import Ports

NOBODY = 2**22 + 1
"""Beyond every pid that Linux gives."""


def test_what_a_killed_process_left_beside_a_file_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "worker" / "instances"
    folder.mkdir(parents=True)
    left, under_way = folder / f".7.json.{NOBODY}.new", folder / f".8.json.{os.getpid()}.new"
    for path in (left, under_way, folder / "7.json"):
        path.write_text("{}")
    datadir.prepare(tmp_path, Ports())
    assert sorted(folder.iterdir()) == [under_way, folder / "7.json"]
