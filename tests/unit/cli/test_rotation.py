import errno
from pathlib import Path

import pytest

from gpustack_lite.cli.rotation import rotate


def test_a_large_log_is_moved_aside_and_its_writer_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    with path.open("a") as writer:
        for number in range(4):
            writer.write(f"{number}" * 10)
            writer.flush()
            rotate(path, limit_bytes=5, kept=2)
        writer.write("last")
    assert path.read_text() == "last"
    assert (tmp_path / "x.log.1").read_text() == "3" * 10
    assert (tmp_path / "x.log.2").read_text() == "2" * 10
    assert not (tmp_path / "x.log.3").exists()


def test_a_small_or_missing_log_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "small.log").write_text("12345")
    rotate(tmp_path / "small.log", limit_bytes=5, kept=2)
    rotate(tmp_path / "missing.log", limit_bytes=5, kept=2)
    assert [path.name for path in tmp_path.iterdir()] == ["small.log"]


def test_a_log_is_cut_also_where_there_is_no_room_for_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        target.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device", str(source))

    monkeypatch.setattr("shutil.copyfile", full)
    path = tmp_path / "x.log"
    path.write_text("123456")
    rotate(path, limit_bytes=5, kept=2)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.log", "")]
