"""Waiting for an engine and watching it, in a time that passes at once."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_lite.domain import HttpProbe
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.wire import Progress
from tests.fakes.clock import ManualClock
from tests.fakes.processes import FakeProcesses
from worker import readings
from worker.engine import Condemned, Ended, Engine, Foreign, Hung, SaysDead, TooSlow, Watch, progress_of
from worker.probe import Readings
from worker.runtimes.process import Tree

ROOT = Identity(10, 1, "boot")
MIB = 1024**2


class Lasting(FakeProcesses):
    """Its process ends when `exit_code` is given."""

    def __init__(self) -> None:
        super().__init__({ROOT})
        self.ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    async def wait(self, identity: Identity) -> int | None:
        return await asyncio.shield(self.ended)


class Answers:
    """`status` is asked at each probe, with the number of the probe."""

    def __init__(self, status: Callable[[int], int | None]) -> None:
        self._status = status
        self.count = 0
        self.asked: set[tuple[int, str]] = set()

    async def status(self, port: int, path: str, engine_key: str) -> int | None:
        self.count += 1
        self.asked.add((port, path))
        return self._status(self.count)


PROBE = HttpProbe("/health", 60.0)
TELLING = HttpProbe("/ready", 60.0, live_path="/live", port=21001, busy=frozenset({503}), dead=frozenset({500}))
"""Of an engine that tells ready, busy and dead apart, on a port of its own."""


def engine(size_bytes: int | None = None, probe: HttpProbe = PROBE) -> Engine:
    return Engine(ROOT, Tree("w:1", ROOT), 21000, probe, "key", Path("/nowhere.log"), size_bytes)


def ignore(_: Progress) -> None: ...


@pytest.fixture(autouse=True)
def _listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "is_listening", lambda *_: True)


async def test_ready_on_the_first_200() -> None:
    answers = Answers(lambda count: [None, 503, 200][min(count, 3) - 1])
    await Watch(engine(), Ports(clock=ManualClock(), processes=Lasting()), answers).until_ready(ignore)
    assert answers.count == 3


async def test_an_exit_is_seen_with_its_code() -> None:
    processes = Lasting()
    processes.ended.set_result(7)
    with pytest.raises(Ended) as caught:
        await Watch(engine(), Ports(clock=ManualClock(), processes=processes), Answers(lambda _: None)).until_ready(
            ignore
        )
    assert caught.value.exit_code == 7


async def test_somebody_else_on_the_port_is_not_taken_for_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "is_listening", lambda *_: False)
    with pytest.raises(Foreign):
        await Watch(engine(), Ports(clock=ManualClock(), processes=Lasting()), Answers(lambda _: 200)).until_ready(
            ignore
        )


async def test_where_sockets_cannot_be_seen_an_answer_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "is_listening", lambda *_: None)
    await Watch(engine(), Ports(clock=ManualClock(), processes=Lasting()), Answers(lambda _: 200)).until_ready(ignore)


async def test_no_answer_and_no_progress_is_given_up_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "of_tree", lambda *_: Readings())
    with pytest.raises(TooSlow) as caught:
        await Watch(engine(), Ports(clock=ManualClock(), processes=Lasting()), Answers(lambda _: 503)).until_ready(
            ignore
        )
    assert 60 <= caught.value.seconds < 61


async def test_a_loading_engine_is_waited_for_and_its_progress_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    loaded = iter(range(0, 10_000))
    monkeypatch.setattr(readings, "of_tree", lambda *_: Readings(rss_bytes=next(loaded) * MIB))
    told: list[Progress] = []
    answers = Answers(lambda _: 200 if clock.monotonic() > 1200 else 503)
    await Watch(engine(500 * MIB), Ports(clock=clock, processes=Lasting()), answers).until_ready(told.append)
    fractions = [each.fraction or 0.0 for each in told]
    assert fractions == sorted(fractions)
    assert (fractions[-1], told[-1].bytes_total) == (1.0, 500 * MIB)


async def test_three_failures_are_sickness_and_one_success_is_health() -> None:
    processes = Lasting()
    health: list[bool] = []

    def status(count: int) -> int | None:
        if count == 6:
            processes.ended.set_result(0)
        return 503 if count in {2, 3, 4} else 200

    with pytest.raises(Ended):
        await Watch(engine(), Ports(clock=ManualClock(), processes=processes), Answers(status)).until_ended(
            health.append, lambda *_: None
        )
    assert health == [True, False, True, True]


async def test_one_that_hangs_for_five_minutes_is_given_up() -> None:
    clock = ManualClock()
    with pytest.raises(Hung):
        await Watch(engine(), Ports(clock=clock, processes=Lasting()), Answers(lambda _: None)).until_ended(
            lambda _: None, lambda *_: None
        )
    assert 1300 < clock.monotonic() < 1310


async def test_busy_is_health_once_it_was_ready_and_not_before() -> None:
    processes = Lasting()
    health: list[bool] = []
    ready = Answers(lambda count: 503 if count < 3 else 200)
    await Watch(engine(probe=TELLING), Ports(clock=ManualClock(), processes=processes), ready).until_ready(ignore)
    assert (ready.count, ready.asked) == (3, {(21001, "/ready")})

    def busy(count: int) -> int:
        if count == 200:
            processes.ended.set_result(0)
        return 503

    answers = Answers(busy)
    with pytest.raises(Ended):
        await Watch(engine(probe=TELLING), Ports(clock=ManualClock(), processes=processes), answers).until_ended(
            health.append, lambda *_: None
        )
    assert set(health) == {True}
    assert answers.asked == {(21001, "/live")}


async def test_one_that_says_it_is_dead_is_not_waited_for_as_one_that_is_silent() -> None:
    clock = ManualClock()
    with pytest.raises(SaysDead) as caught:
        await Watch(engine(probe=TELLING), Ports(clock=clock, processes=Lasting()), Answers(lambda _: 500)).until_ended(
            lambda _: None, lambda *_: None
        )
    assert caught.value.status == 500
    assert 1030 < clock.monotonic() < 1040


async def test_one_that_recovers_before_it_is_given_up_is_forgiven() -> None:
    processes = Lasting()

    def status(count: int) -> int:
        if count == 40:
            processes.ended.set_result(0)
        return 200 if count % 8 == 0 else 500

    with pytest.raises(Ended):
        await Watch(
            engine(probe=TELLING), Ports(clock=ManualClock(), processes=processes), Answers(status)
        ).until_ended(lambda _: None, lambda *_: None)


def test_progress_without_a_size_is_unknown() -> None:
    assert progress_of(Readings(rss_bytes=MIB), None) == Progress(phase="load")


async def test_one_that_was_condemned_is_ended_however_healthy_it_says_it_is() -> None:
    watch = Watch(engine(), Ports(clock=ManualClock(), processes=Lasting()), Answers(lambda _: 200))
    looks: list[float] = []

    def on_look(_: Tree, seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            watch.condemn()

    with pytest.raises(Condemned):
        await watch.until_ended(lambda _: None, on_look)
    assert len(looks) == 3
