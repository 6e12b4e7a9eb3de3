"""What is new about a worker, and how long one has been silent."""

import pytest

from gpustack_lite.server.heartbeats import Heartbeats, Silence
from gpustack_lite.server.liveness import silent_after_seconds
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Heartbeat
from tests.fakes.clock import START, ManualClock
from tests.fakes.rows import a_worker

BEAT = Heartbeat(version="1", cpu_count=4, ram_total_bytes=100, ram_used_bytes=1)


async def is_news(heartbeats: Heartbeats, signals: Signals, beat: Heartbeat) -> bool:
    with signals.listen("heartbeats") as listener:
        heartbeats.heard(1, beat)
        return await listener.wait(0)


async def test_the_first_beat_and_a_changed_one_are_written_at_once() -> None:
    signals = Signals()
    heartbeats = Heartbeats(ManualClock(), signals)
    assert await is_news(heartbeats, signals, BEAT)
    assert not await is_news(heartbeats, signals, BEAT.model_copy(update={"ram_used_bytes": 2}))
    assert await is_news(heartbeats, signals, BEAT.model_copy(update={"ram_total_bytes": 200}))
    heartbeats.forget(1)
    assert await is_news(heartbeats, signals, BEAT)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def heartbeats(clock: ManualClock) -> Heartbeats:
    return Heartbeats(clock, Signals())


def test_a_worker_counts_as_heard_when_it_is_first_looked_at(clock: ManualClock, heartbeats: Heartbeats) -> None:
    silence, worker = Silence(clock, heartbeats), a_worker(seen_at=START)
    assert silence.seconds(worker) == 0
    clock.advance(5)
    assert silence.seconds(worker) == 5


def test_a_beat_ends_the_silence(clock: ManualClock, heartbeats: Heartbeats) -> None:
    silence, worker = Silence(clock, heartbeats), a_worker(seen_at=START)
    silence.seconds(worker)
    clock.advance(5)
    heartbeats.heard(1, BEAT)
    clock.advance(2)
    assert silence.seconds(worker) == 2


def test_a_beat_that_another_server_wrote_ends_it_too(clock: ManualClock, heartbeats: Heartbeats) -> None:
    silence = Silence(clock, heartbeats)
    silence.seconds(a_worker(seen_at=START))
    clock.advance(5)
    assert silence.seconds(a_worker(seen_at=clock.wall())) == 0


def test_a_beat_that_this_server_wrote_late_does_not_count_twice(clock: ManualClock, heartbeats: Heartbeats) -> None:
    silence = Silence(clock, heartbeats)
    silence.seconds(a_worker(seen_at=None))
    heartbeats.heard(1, BEAT)
    clock.advance(5)
    heartbeats.written[1] = clock.wall()
    assert silence.seconds(a_worker(seen_at=clock.wall())) == 5


def test_a_wall_clock_that_jumps_back_declares_nobody_lost(clock: ManualClock, heartbeats: Heartbeats) -> None:
    silence = Silence(clock, heartbeats)
    silence.seconds(a_worker(seen_at=clock.wall()))
    assert silence.seconds(a_worker(seen_at=START.replace(year=1999))) == 0


@pytest.mark.parametrize(("grace", "limit"), [(60.0, 30.0), (2.0, 2.0)])
def test_a_worker_is_silent_after_three_beats_and_never_after_the_grace(grace: float, limit: float) -> None:
    assert silent_after_seconds(Settings(grace_seconds=grace)) == limit
