import json
from pathlib import Path

import pytest

from gpustack_lite import settings
from gpustack_lite.cli.datadir import DataDir
from gpustack_lite.cli.family import Family, index_of, kind_of, settings_environment
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings


@pytest.fixture
def family(tmp_path: Path) -> Family:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/family").write_text("ours")
    return Family(
        Settings(), DataDir(tmp_path), Ports(), roles=("server", "gateway-0", "worker"), listen_fd=7, server_fd=8
    )


def test_a_child_loads_the_very_settings_of_its_supervisor(monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings.load(
        port=0,
        no_worker=True,
        simulate="8x910B3-64G",
        model_roots=[Path("/models"), Path("/a b")],
        allowed_hosts=["gpu.example.com"],
        grace_seconds=1.5,
    )
    for name, value in settings_environment(given).items():
        monkeypatch.setenv(name, value)
    assert settings.load().model_dump() == given.model_dump()


@pytest.mark.parametrize(
    ("role", "listen_fd", "server_fd"), [("server", None, 8), ("gateway-0", 7, None), ("worker", None, None)]
)
def test_each_child_is_told_of_its_own_socket_only(
    family: Family, role: str, listen_fd: int | None, server_fd: int | None
) -> None:
    told = json.loads(family.environment(role)["GPUSTACK_LITE_CHILD"])
    assert (told["listen_fd"], told["server_fd"]) == (listen_fd, server_fd)


def test_no_credential_of_a_person_reaches_a_child(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GPUSTACK_LITE_TOKEN", "GPUSTACK_LITE_API_KEY", "GPUSTACK_LITE_HANDOVER"):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in family.environment("worker").values()


@pytest.mark.parametrize(("role", "kind", "index"), [("gateway-3", "gateway", 3), ("worker", "worker", 0)])
def test_a_role_names_its_kind_and_its_number(role: str, kind: str, index: int) -> None:
    assert (kind_of(role), index_of(role)) == (kind, index)
