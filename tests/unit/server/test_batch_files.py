import errno
import os
from pathlib import Path

import pytest

from gpustack_lite.server import batch_files
from gpustack_lite.server.batch_files import Results, check, read_line
from gpustack_lite.server.batch_lines import failure, result
from tests.unit.server.test_batch_lines import URL, line


def written(custom_id: str) -> bytes:
    return result("batch_1", custom_id, 200, "r", b"{}")


def results(folder: Path) -> Results:
    return Results(folder / "output", folder / "error")


def test_a_kill_at_any_byte_neither_loses_nor_doubles_a_result(tmp_path: Path) -> None:
    whole = written("a") + written("b")
    for cut in (*range(0, len(whole), 9), len(whole) - 1, len(whole)):
        (tmp_path / "output").write_bytes(whole[:cut])
        with results(tmp_path) as resumed:
            for custom_id in ("a", "b"):
                resumed.append(custom_id, written(custom_id), is_error=False)
        assert (tmp_path / "output").read_bytes() == whole
        assert resumed.counts == (2, 0)
        assert resumed.sizes == (len(whole), 0)


def test_a_line_with_a_result_keeps_it(tmp_path: Path) -> None:
    with results(tmp_path) as first:
        first.append("a", written("a"), is_error=False)
        first.append("b", failure("batch_1", "b", "x", "y"), is_error=True)
    with results(tmp_path) as second:
        assert second.done == {"a", "b"}
        second.append_all([(each, failure("batch_1", each, "x", "y")) for each in "abc"], is_error=True)
        assert second.counts == (1, 2)


def test_a_file_without_a_line_is_not_kept(tmp_path: Path) -> None:
    with results(tmp_path):
        assert (tmp_path / "output").stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == []


def test_half_a_line_on_a_full_disk_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    with results(tmp_path) as each:
        each.append("a", written("a"), is_error=False)
        with monkeypatch.context() as patch:
            patch.setattr(batch_files, "write_all", full)
            with pytest.raises(OSError, match="No space"):
                each.append("b", written("b"), is_error=False)
        each.append("b", written("b"), is_error=False)
    assert (tmp_path / "output").read_bytes() == written("a") + written("b")


def test_what_comes_after_the_end_is_refused(tmp_path: Path) -> None:
    with results(tmp_path) as each:
        pass
    with pytest.raises(OSError, match="closed"):
        each.append("a", written("a"), is_error=False)


def test_lines_are_read_at_their_places(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(line("a") + b"\n" + line("b"))
    checker = check(path, URL, 10_000)
    assert [read_line(path, each) for each in checker.lines] == [line("a"), line("b")]
