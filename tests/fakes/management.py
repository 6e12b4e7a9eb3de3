"""The management API on a real SQLite file, without sockets: what the server assembles, without its reconcilers."""

import hashlib
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from argon2 import PasswordHasher
from fastapi import FastAPI

from gpustack_lite.api.app import build
from gpustack_lite.api.context import Context, MachineTokens
from gpustack_lite.api.credentials import digest
from gpustack_lite.api.passwords import Passwords
from gpustack_lite.db.engine import open_database, sqlite_url
from gpustack_lite.db.tables import ApiKey, User
from gpustack_lite.ports import Ports
from gpustack_lite.server import evaluating
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Heartbeat, RoutesReply
from tests.fakes.clock import ManualClock

Row = TypeVar("Row")
PASSWORD = "correct horse"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
TOKENS = MachineTokens(gateway="gateway-token", join="join-token", cli="cli-token")


class CountingRandomness:
    """Tokens that a test can foresee, and that differ."""

    def __init__(self) -> None:
        self.count = 0

    def token(self, byte_count: int = 32) -> str:
        self.count += 1
        return hashlib.sha256(str(self.count).encode()).hexdigest()[:43]

    def unique_id(self) -> str:
        return self.token()

    def uniform(self, low: float, high: float) -> float:
        return low


@dataclass
class Published:
    reply: RoutesReply | None = None

    def newer(self, epoch: int, models_revision: int, credentials_revision: int) -> RoutesReply | None:
        now = self.reply
        known = (epoch, models_revision, credentials_revision)
        if now is None or known == (now.epoch, now.models_revision, now.credentials_revision):
            return None
        return now

    async def catch_up(self, seconds: float) -> None:
        """What is here is all there is."""


@dataclass
class Heartbeats:
    beats: list[tuple[int, Heartbeat]] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)

    def heard(self, worker_id: int, heartbeat: Heartbeat) -> None:
        self.beats.append((worker_id, heartbeat))

    def forget(self, worker_id: int) -> None:
        self.forgotten.append(worker_id)


@dataclass
class Api:
    context: Context
    app: FastAPI
    clock: ManualClock
    published: Published
    heartbeats: Heartbeats

    def client(self, secret: str | None = None, **headers: str) -> httpx.AsyncClient:
        """As a gateway would pass it on; what the server must not raise comes back as a 500."""
        sent = {} if secret is None else {"authorization": f"Bearer {secret}"}
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=sent | headers)

    async def user(self, name: str = "admin", role: str = "admin", **given: Any) -> User:
        user = User(username=name, role=role, password_hash=CHEAP.hash(PASSWORD), created_at=self.clock.wall(), **given)
        return await self.add(user)

    async def key(self, user: User, *scopes: str, **given: Any) -> str:
        secret = f"gpl_{self.context.ports.randomness.token()}"
        row = {"name": "k", "prefix": secret[:12], "created_at": self.clock.wall(), "scopes": list(scopes)} | given
        await self.add(ApiKey(user_id=user.id or 0, digest=digest(secret), **row))
        return secret

    async def add(self, row: Row) -> Row:
        async with self.context.db.write() as session:
            session.add(row)
        return row

    async def sign_in(self, username: str = "admin", password: str = PASSWORD) -> dict[str, Any]:
        async with self.client() as client:
            answer = await client.post("/api/v1/auth/login", json={"username": username, "password": password})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


async def migrated(path: Path) -> Path:
    """An empty database file, to be copied: migrations need not run for every test."""
    await (await open_database(sqlite_url(path), Ports())).close()
    return path


@asynccontextmanager
async def running(data_dir: Path, template: Path, console: Path | None = None, **given: Any) -> AsyncIterator[Api]:
    clock, published, heartbeats = ManualClock(), Published(), Heartbeats()
    ports = Ports(clock=clock, randomness=CountingRandomness())
    shutil.copy(template, data_dir / "test.db")
    db = await open_database(sqlite_url(data_dir / "test.db"), ports)
    context = Context(
        settings=Settings(data_dir=data_dir, **given),
        ports=ports,
        db=db,
        signals=Signals(),
        data_dir=data_dir,
        published=published,
        heartbeats=heartbeats,
        judge=evaluating,
        tokens=TOKENS,
        passwords=Passwords(CHEAP),
    )
    try:
        yield Api(context, build(context, console or data_dir / "no-console"), clock, published, heartbeats)
    finally:
        await db.close()
