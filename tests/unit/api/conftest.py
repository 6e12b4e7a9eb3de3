"""One API per test, with an admin, and with backends that a test can foresee."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import MappingProxyType

import httpx
import pytest

from backends import registry
from backends.registry import Registry
from gpustack_lite.db.tables import User
from tests.fakes.fake_backends import FakeBackend
from tests.fakes.management import Api, migrated, running


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(migrated(tmp_path_factory.mktemp("template") / "empty.db"))


@pytest.fixture(autouse=True)
def backends(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"echo": FakeBackend("echo"), "llama_cpp": FakeBackend("llama_cpp", needs_facts=True)}
    monkeypatch.setattr(registry, "registry", lambda: Registry(MappingProxyType(known)))


@pytest.fixture
async def api(tmp_path: Path, template: Path) -> AsyncIterator[Api]:
    async with running(tmp_path, template) as each:
        yield each


@pytest.fixture
async def admin(api: Api) -> User:
    return await api.user()


@pytest.fixture
async def client(api: Api, admin: User) -> AsyncIterator[httpx.AsyncClient]:
    """An administrator's, by a key that may do everything."""
    async with api.client(await api.key(admin, "manage", "inference", name="the test's")) as each:
        yield each
