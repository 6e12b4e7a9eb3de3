"""What an engine is run with, and what of that a machine does not give."""

import json
import os
import pwd
import stat
from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.settings import load
from worker.runtimes import confinement, engine_user
from worker.runtimes.confinement import Confinement
from worker.runtimes.control_group import Groups
from worker.runtimes.engine_user import EngineUser

NOBODY = EngineUser("nobody", 65534, 65534, (65534,))


def rules(made: Confinement, group: Path | None = None) -> dict[str, object]:
    argv = made.argv(("engine", "--port", "1"), group)
    assert argv[-4:] == ("--", "engine", "--port", "1")
    found: dict[str, object] = json.loads(argv[-5])
    return found


def test_every_engine_leaves_no_core_and_its_files_are_its_own() -> None:
    assert rules(Confinement()) == {
        "umask": 0o077,
        "limits": {"CORE": 0, "NOFILE": 65536},
        "user": None,
        "group": None,
    }


def test_an_account_and_a_group_are_said(tmp_path: Path) -> None:
    found = rules(Confinement(NOBODY), tmp_path)
    assert found["user"] == {"uid": 65534, "gid": 65534, "groups": [65534]}
    assert found["group"] == str(tmp_path)


def test_what_is_wished_and_cannot_be_had_is_told() -> None:
    wished = {"memory": 2**30, "pids": 100}
    assert [each.code for each in confinement.missing(Confinement(shared=wished))] == [
        "confinement_no_groups",
        "confinement_no_limit",
        "confinement_no_limit",
    ]
    groups = Groups(Path("/sys/fs/cgroup/x"), frozenset({"memory"}))
    (told,) = confinement.missing(Confinement(groups=groups, shared=wished))
    assert told.params == {"limit": "engine_processes"}
    assert confinement.missing(Confinement(groups=groups, shared={"memory": 2**30})) == ()


def test_the_number_of_processes_is_bound_for_an_account_where_no_group_does_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RLIMIT_NPROC counts those of a user: the worker's own must not be among them."""
    monkeypatch.setattr(engine_user, "named", lambda _: NOBODY)
    monkeypatch.setattr(confinement.control_group, "found", Groups)
    made = confinement.of(load(engine_user="nobody", engine_processes=100, engine_file_bytes=2**20))
    assert made.limits == {"CORE": 0, "NOFILE": 65536, "FSIZE": 2**20, "NPROC": 100}
    assert "NPROC" not in confinement.of(load(engine_processes=100)).limits
    assert [each.code for each in confinement.missing(made)] == ["confinement_no_groups"]


@pytest.mark.parametrize(("name", "code"), [("no-such", "engine_user_unknown"), ("root", "engine_user_is_root")])
def test_an_account_that_will_not_do_is_refused(name: str, code: str) -> None:
    with pytest.raises(Refusal, match=code):
        engine_user.named(name)


def test_only_root_runs_engines_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(Refusal, match="engine_user_needs_root"):
        engine_user.named("nobody")


def test_an_account_has_the_groups_of_devices_and_never_root_s(tmp_path: Path) -> None:
    account = pwd.getpwnam("nobody")
    made = engine_user.named("nobody", nodes=["/dev/null", "/dev/tty", str(tmp_path)])
    expected = {account.pw_gid, os.stat("/dev/null").st_gid, os.stat("/dev/tty").st_gid} - {0}
    assert (made.uid, made.gid, set(made.groups)) == (account.pw_uid, account.pw_gid, expected)


def mine() -> EngineUser:
    """Whoever runs the tests may give files to himself."""
    return EngineUser("me", os.getuid(), os.getgid() + (1 if os.getuid() == 0 else 0))


def test_what_engines_read_is_readable_for_their_group_and_written_by_nobody_else(tmp_path: Path) -> None:
    user = mine()
    folder, secret = tmp_path / "models", tmp_path / "secret"
    (folder / "deep").mkdir(parents=True, mode=0o700)
    (folder / "deep" / "weights").write_text("w")
    secret.write_text("s")
    (folder / "deep" / "link").symlink_to(secret)
    for path, mode in ((folder / "deep" / "weights", 0o620), (secret, 0o600), (folder / "deep", 0o700)):
        path.chmod(mode)
    engine_user.let_read(folder, EngineUser("me", os.getuid(), user.gid))
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (folder / "deep", folder / "deep" / "weights")}
    if os.getuid() == 0:
        assert modes == {"deep": 0o2750, "weights": 0o640}
        assert (folder / "deep" / "weights").stat().st_gid == user.gid
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_the_way_there_may_be_passed_and_not_listed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    engine_user.let_through([folder, tmp_path / "gone"], mine())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o710


def test_a_working_directory_is_made_anew_but_for_its_home(tmp_path: Path) -> None:
    confinement.make_private(tmp_path / "7")
    (tmp_path / "7" / "tmp" / "left").touch()
    (tmp_path / "7" / "home" / "cache").touch()
    (tmp_path / "7").chmod(0o755)
    confinement.make_private(tmp_path / "7")
    assert stat.S_IMODE((tmp_path / "7").stat().st_mode) == 0o700
    assert [path.name for path in (tmp_path / "7" / "tmp").iterdir()] == []
    assert [path.name for path in (tmp_path / "7" / "home").iterdir()] == ["cache"]
