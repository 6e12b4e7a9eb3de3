import os
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 43, b"\xf7" * 43, b"\n"])
def test_a_damaged_secret_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    made = datadir.prepare(tmp_path, Ports())
    kept = made.secret("cli_token", Ports())
    (made.run / "family").write_bytes(damage)
    again = datadir.prepare(tmp_path, Ports())
    assert len(again.secret("family", Ports())) > 20
    assert again.secret("cli_token", Ports()) == kept
