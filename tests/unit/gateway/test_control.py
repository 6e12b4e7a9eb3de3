import asyncio
from pathlib import Path
from typing import Any

import pytest

from gpustack_lite.gateway.control import (
    AWAY_SECONDS,
    CONFIRMED_EVERY_SECONDS,
    EVERY_REVISION,
    SILENT_SECONDS,
    CatchUp,
    CopyKeeper,
    RoutesPoll,
    StatusReporter,
    UsageCourier,
    UsageWriter,
)
from gpustack_lite.gateway.freshness import Freshness
from gpustack_lite.gateway.ledger import Ledger
from gpustack_lite.gateway.limits import Limiter
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.gateway.spool import Spool
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Credential, GatewayOrders, GatewayStatus, ModelRoute, RoutesReply, UsageBatch
from tests.fakes.clock import ManualClock

ME = Identity(10, 100, "boot-1")
MODEL = ModelRoute(id=1, name="m", created=1, state="ready")
REPLY = RoutesReply(epoch=2, models_revision=5, credentials_revision=6, models=(MODEL,), credentials=())


class FakeServer:
    """Answers in turn; a failure is raised. The last answer is given again and again."""

    def __init__(self, *answers: tuple[int, bytes] | UpstreamFailed) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[bytes, bytes, bytes | None]] = []

    async def ask(self, method: bytes, path: bytes, document: bytes | None = None, **_: Any) -> tuple[int, bytes]:
        self.asked.append((method, path, document))
        await asyncio.sleep(0)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, UpstreamFailed):
            raise answer
        return answer


class Polling:
    def __init__(self, *answers: tuple[int, bytes] | UpstreamFailed) -> None:
        self.clock = ManualClock()
        self.table = RouteTable()
        self.freshness = Freshness(self.clock.monotonic, 3600)
        self.server = FakeServer(*answers)
        self.poll = RoutesPoll(self.table, self.freshness, self.server, Signals())  # type: ignore[arg-type]


GOOD = (200, REPLY.model_dump_json().encode())


async def test_routes_are_asked_for_by_what_is_known_and_taken_over() -> None:
    polling = Polling(GOOD, (204, b""))
    await polling.poll.step()
    await polling.poll.step()
    assert [path for _, path, _ in polling.server.asked] == [
        b"/api/gateway/v1/routes?epoch=0&models=-1&credentials=-1",
        b"/api/gateway/v1/routes?epoch=2&models=5&credentials=6",
    ]
    assert "m" in polling.table.models
    assert polling.freshness.age_seconds == 0


async def test_nothing_new_is_a_confirmation_too() -> None:
    polling = Polling(GOOD, (204, b""))
    await polling.poll.step()
    polling.clock.advance(30)
    await polling.poll.step()
    assert polling.freshness.age_seconds == 0


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(UpstreamFailed("connect_failed"), id="away"),
        pytest.param((401, b""), id="token refused"),
        pytest.param((500, b"boom"), id="broken"),
        pytest.param((200, b"{"), id="unreadable"),
        pytest.param((200, b'{"epoch": 9, "models_revision": 9}'), id="not routes"),
    ],
)
async def test_a_server_in_trouble_changes_nothing_of_what_is_served(
    answer: tuple[int, bytes] | UpstreamFailed,
) -> None:
    polling = Polling(GOOD, answer)
    await polling.poll.step()
    polling.clock.advance(30)
    assert await polling.poll.step() >= AWAY_SECONDS
    assert "m" in polling.table.models
    assert polling.freshness.age_seconds == 30


async def test_trouble_is_said_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    away = UpstreamFailed("connect_failed")
    polling = Polling(GOOD, away, away, away, GOOD)
    for _ in range(5):
        await polling.poll.step()
    assert [record.message for record in caplog.records] == ["server_away", "server_reached"]


async def test_before_a_no_the_server_is_asked_and_one_question_serves_all_who_came_before_it() -> None:
    polling = Polling(GOOD)
    catch_up = CatchUp(polling.poll)
    await asyncio.gather(*(catch_up() for _ in range(20)))
    assert [path for _, path, _ in polling.server.asked] == [
        b"/api/gateway/v1/routes?epoch=0&models=-1&credentials=-1&now=true",
        b"/api/gateway/v1/routes?epoch=2&models=5&credentials=6&now=true",
    ]
    assert "m" in polling.table.models


@pytest.mark.parametrize(
    "answer", [pytest.param((500, b"boom"), id="broken"), pytest.param(UpstreamFailed("connect_failed"), id="away")]
)
async def test_a_server_in_trouble_is_not_waited_for_before_a_no(answer: tuple[int, bytes] | UpstreamFailed) -> None:
    polling = Polling(answer)
    await CatchUp(polling.poll)()
    assert len(polling.server.asked) == 1
    await polling.poll.step()
    await CatchUp(polling.poll)()
    assert len(polling.server.asked) == 2


async def test_a_server_that_hangs_delays_a_no_by_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: Any, **__: Any) -> tuple[int, bytes]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr("gpustack_lite.gateway.control.CATCH_UP_SECONDS", 0.01)
    polling = Polling(GOOD)
    polling.server.ask = hang  # type: ignore[method-assign]
    async with asyncio.timeout(5):
        await CatchUp(polling.poll)()


def keeper(polling: Polling, path: Path, limiter: Limiter | None = None) -> CopyKeeper:
    clock = polling.clock
    limiter = limiter or Limiter(clock.monotonic, clock.wall)
    return CopyKeeper(polling.table, polling.freshness, path, Ports(clock=clock), "boot-1", limiter=limiter)


async def test_what_was_spent_and_how_many_gateways_there_were_is_known_without_a_server(tmp_path: Path) -> None:
    path, polling = tmp_path / "routes.json", Polling(GOOD)
    before, after = (Limiter(polling.clock.monotonic, polling.clock.wall) for _ in range(2))
    before.heed(GatewayOrders(gateways=3, spent={"key:7": {"2026-11": 5}}))
    await polling.poll.step()
    await keeper(polling, path, before).step()
    assert keeper(polling, path, after).load()
    assert (after.orders.gateways, after.spending.said("key:7", "2026-11")) == (3, 5)


async def test_the_server_took_rows_and_the_limiter_is_told_only_then(tmp_path: Path) -> None:
    taken: list[bytes] = []
    for status in (500, 204):
        courier = UsageCourier("g", Waiting([b"{}"]), FakeServer((status, b"")), taken.extend)  # type: ignore[arg-type]
        await courier.step()
        assert taken == ([b"{}"] if status == 204 else [])


class Waiting:
    """A spool with one file."""

    def __init__(self, rows: list[bytes]) -> None:
        self._rows = rows

    def seal(self) -> None: ...
    def deliverable(self) -> list[Path]:
        return [Path("one")]

    def read(self, _: Path) -> list[bytes]:
        return self._rows

    def remove(self, _: Path, count: int) -> None: ...


async def test_a_copy_is_written_when_something_changed_and_once_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "routes.json"
    polling = Polling(GOOD)
    copy = keeper(polling, path)
    await copy.step()
    assert not path.exists()
    await polling.poll.step()
    await copy.step()
    written = path.read_bytes()
    polling.clock.advance(CONFIRMED_EVERY_SECONDS - 1)
    polling.freshness.confirm()
    await copy.step()
    assert path.read_bytes() == written
    polling.clock.advance(1)
    await copy.step()
    assert path.read_bytes() != written


async def test_another_process_serves_from_the_copy_and_knows_its_age(tmp_path: Path) -> None:
    path = tmp_path / "routes.json"
    first, second = Polling(GOOD), Polling(UpstreamFailed("connect_failed"))
    await first.poll.step()
    first.clock.advance(7)
    await keeper(first, path).step()
    second.clock.advance(20)
    assert keeper(second, path).load()
    assert second.table.revisions == first.table.revisions
    assert second.freshness.age_seconds == 20


async def test_without_a_copy_nothing_is_loaded(tmp_path: Path) -> None:
    assert not keeper(Polling(GOOD), tmp_path / "routes.json").load()


async def test_the_status_tells_revisions_and_leases_and_the_goodbye_that_nobody_need_wait() -> None:
    polling = Polling(GOOD)
    status = StatusReporter("g", polling.table, polling.server, polling.clock.monotonic)  # type: ignore[arg-type]
    await status.step()
    assert polling.server.asked == []  # it has nothing to acknowledge yet
    await polling.poll.step()
    await status.step()
    await status.say_goodbye()
    said = [GatewayStatus.model_validate_json(document) for _, _, document in polling.server.asked[1:] if document]
    assert [(each.epoch, each.models_revision) for each in said] == [(2, 5), (2, EVERY_REVISION)]


async def test_a_server_whose_socket_takes_questions_and_answers_none_is_not_heard() -> None:
    polling = Polling(GOOD)
    await polling.poll.step()
    status = StatusReporter("g", polling.table, polling.server, polling.clock.monotonic)  # type: ignore[arg-type]
    polling.server.answers = [UpstreamFailed("first_byte_timeout")]
    assert status.is_heard
    await status.step()
    assert status.is_heard  # it may only be restarting
    polling.clock.advance(SILENT_SECONDS)
    await status.step()
    assert not status.is_heard
    polling.server.answers = [(500, b"boom")]
    await status.step()
    assert status.is_heard


# --- usage


class Accounts:
    def __init__(self, folder: Path, *answers: tuple[int, bytes] | UpstreamFailed) -> None:
        ports = Ports(clock=ManualClock())
        self.server = FakeServer(*answers)
        self.ledger = Ledger(ports.clock, on_row=lambda: None)
        self.spool = Spool(folder, ports.disk, ports.processes, ME)
        self.writer = UsageWriter(self.ledger, self.spool, ports, Signals())
        self.courier = UsageCourier("g", self.spool, self.server)  # type: ignore[arg-type]

    def use(self, *request_ids: str) -> None:
        key = Credential(digest="d", kind="key", id=1, user_id=1, user="ada", role="user")
        for request_id in request_ids:
            with self.ledger.open(request_id, key, "m", "/v1/embeddings") as entry:
                entry.reach(1)
                entry.end(200)

    @property
    def sent(self) -> list[list[str]]:
        batches = [UsageBatch.model_validate_json(document) for _, _, document in self.server.asked if document]
        return [[row.request_id for row in batch.rows] for batch in batches]


async def test_usage_goes_from_memory_to_disk_to_the_server_and_is_gone(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path, (204, b""))
    accounts.use("a", "b")
    await accounts.writer.step()
    assert accounts.ledger.waiting() == []
    assert len(list(tmp_path.iterdir())) == 1
    await accounts.courier.step()
    assert accounts.sent == [["a", "b"]]
    assert list(tmp_path.iterdir()) == []
    await accounts.courier.step()
    assert len(accounts.sent) == 1


@pytest.mark.parametrize(
    "trouble", [UpstreamFailed("closed_early", has_answered=True), (500, b"")], ids=["lost", "refused"]
)
async def test_usage_is_sent_until_it_is_acknowledged(
    tmp_path: Path, trouble: tuple[int, bytes] | UpstreamFailed
) -> None:
    accounts = Accounts(tmp_path, trouble, (204, b""))
    accounts.use("a")
    await accounts.writer.step()
    assert await accounts.courier.step() is not None
    accounts.use("b")
    await accounts.writer.step()
    assert await accounts.courier.step() is None
    assert accounts.sent == [["a"], ["a"], ["b"]]
    assert list(tmp_path.iterdir()) == []


async def test_long_spools_go_in_batches(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path, (204, b""))
    accounts.use(*(f"r{number}" for number in range(1001)))
    await accounts.writer.step()
    await accounts.courier.step()
    assert [len(batch) for batch in accounts.sent] == [500, 500, 1]


async def test_rows_stay_in_memory_when_the_disk_does_not_take_them(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path / "missing", (204, b""))
    accounts.use("a")
    with pytest.raises(OSError, match="No such file"):
        await accounts.writer.write()
    assert [b'"a"' in text for text in accounts.ledger.waiting()] == [True]
