"""Where control groups can be made, and what becomes of one; on directories that look like the kernel's."""

from pathlib import Path

import pytest

from worker.runtimes import control_group
from worker.runtimes.control_group import Groups


def proc(folder: Path, own: str) -> Path:
    """/proc/self of a process in the group `own` of a hierarchy that lies at folder/cgroup."""
    (folder / "cgroup" / own.lstrip("/")).mkdir(parents=True, exist_ok=True)
    made = folder / "proc"
    made.mkdir()
    (made / "cgroup").write_text(f"4:memory:/old\n0::{own}\n")
    at = str(folder / "cgroup").replace(" ", "\\040")
    lines = ("24 1 0:22 / /proc rw - proc proc rw", f"31 24 0:27 / {at} rw,nosuid shared:9 - cgroup2 cgroup2 rw")
    (made / "mountinfo").write_text("\n".join(lines) + "\n")
    return made


class Kernel:
    """Groups that are made there can be killed, as since Linux 5.14."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, kills: bool = True) -> None:
        made = Path.mkdir

        def mkdir(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
            made(path, mode, parents, exist_ok)
            if "gpustack-lite" in path.name:
                for name in ("cgroup.procs", *(("cgroup.kill",) if kills else ())):
                    (path / name).touch()

        def rmdir(path: Path) -> None:
            for each in path.iterdir():
                each.unlink()
            removed(path)

        removed = Path.rmdir
        monkeypatch.setattr(Path, "mkdir", mkdir)
        monkeypatch.setattr(Path, "rmdir", rmdir)


def test_groups_are_made_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(monkeypatch)
    assert control_group.found(proc(tmp_path, "/a.service")).base == tmp_path / "cgroup" / "a.service"


def test_groups_are_made_beside_us_where_systemd_put_us_into_one_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Kernel(monkeypatch)
    assert control_group.found(proc(tmp_path, "/a.service/worker")).base == tmp_path / "cgroup" / "a.service"


def test_nothing_of_the_search_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(monkeypatch)
    base = control_group.found(proc(tmp_path, "/a")).base
    assert base is not None
    assert [path.name for path in base.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("why", ["no cgroup2", "no kill", "not ours"])
def test_without_a_place_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    Kernel(monkeypatch, kills=why != "no kill")
    told = proc(tmp_path, "/a")
    if why == "no cgroup2":
        (told / "mountinfo").write_text("")
    if why == "not ours":
        (tmp_path / "cgroup" / "a").rename(tmp_path / "elsewhere")
    assert control_group.found(told) == Groups()
    assert Groups().make("x", {}) is None


def test_a_group_is_limited_by_what_is_there(tmp_path: Path) -> None:
    made = Groups(tmp_path, frozenset({"pids"})).make("x", {"pids": 100, "memory": 7})
    assert made is not None
    assert {path.name: path.read_text() for path in made.iterdir()} == {"pids.max": "100"}


def test_a_group_that_was_there_is_taken(tmp_path: Path) -> None:
    groups = Groups(tmp_path)
    assert groups.make("x", {}) == groups.make("x", {})


def test_a_group_that_cannot_be_made_keeps_no_engine_from_starting(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert Groups(tmp_path).make("x", {}) is None


def test_those_of_a_group_are_found_however_deep(tmp_path: Path) -> None:
    (tmp_path / "g" / "inner").mkdir(parents=True)
    (tmp_path / "g" / "cgroup.procs").write_text("7\n8\n")
    (tmp_path / "g" / "inner" / "cgroup.procs").write_text("9\n")
    assert sorted(control_group.pids(tmp_path / "g")) == [7, 8, 9]
    assert control_group.pids(tmp_path / "gone") == []
