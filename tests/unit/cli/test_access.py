import json
import os
from pathlib import Path

import pytest

from gpustack_lite.cli import access, record
from gpustack_lite.cli.record import Record
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Identity, Ports, SystemDisk


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GPUSTACK_LITE_SERVER", "GPUSTACK_LITE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GPUSTACK_LITE_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def run_here(home: Path, *, is_alive: bool = True) -> None:
    own = Ports().processes.identify(os.getpid())
    assert own is not None
    identity = own if is_alive else Identity(own.pid, own.start_ticks + 1, own.boot_id)
    record.write(SystemDisk(), home / "data/run/supervisor.json", Record(identity, "http://127.0.0.1:1234"))
    (home / "data/run/cli_token").write_text("local token\n")


def test_the_environment_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(home)
    monkeypatch.setenv("GPUSTACK_LITE_SERVER", "https://a")
    monkeypatch.setenv("GPUSTACK_LITE_API_KEY", "key")
    assert access.find(Ports()) == access.Access("https://a", "key", "environment")


def test_what_login_stored_comes_before_this_machines_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(home)
    monkeypatch.delenv("GPUSTACK_LITE_DATA_DIR")
    monkeypatch.setattr("gpustack_lite.settings.default_data_dir", lambda: home / "data")
    access.store(Ports(), "https://b", "token")
    assert access.find(Ports()) == access.Access("https://b", "token", "login")
    path = home / "config/gpustack-lite/credentials.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()) == {"url": "https://b", "token": "token"}


@pytest.mark.parametrize("is_alive", [True, False])
def test_a_data_directory_in_the_environment_comes_before_it_while_its_platform_runs(
    home: Path, is_alive: bool
) -> None:
    run_here(home, is_alive=is_alive)
    access.store(Ports(), "https://b", "token")
    assert access.find(Ports()).origin == ("local" if is_alive else "login")


def test_this_machines_own_server_needs_no_login(home: Path) -> None:
    run_here(home)
    assert access.find(Ports()) == access.Access("http://127.0.0.1:1234", "local token", "local")


def test_a_stored_token_is_never_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    access.store(Ports(), "https://b", "token")
    monkeypatch.setenv("GPUSTACK_LITE_SERVER", "https://elsewhere")
    assert access.find(Ports()) == access.Access("https://elsewhere", None, "environment")


@pytest.mark.parametrize(("is_known", "code"), [(False, "no_server_known"), (True, "server_not_running")])
def test_no_server_is_a_sentence(home: Path, is_known: bool, code: str) -> None:
    if is_known:
        run_here(home, is_alive=False)
    with pytest.raises(Refusal) as refused:
        access.find(Ports())
    assert refused.value.code == code
