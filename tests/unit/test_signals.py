"""Hints and the loop that lives on them, on a clock of our own."""

import asyncio
from datetime import UTC, datetime

import pytest

from gpustack_lite.loop import attempt, keep_reconciling
from gpustack_lite.signals import Signals


class Done(BaseException):
    """Ends a loop that never ends."""


class RecordingClock:
    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def pause(self, seconds: float) -> None:
        self.slept.append(seconds)


async def test_a_touch_between_reading_and_waiting_is_not_lost() -> None:
    signals = Signals()
    with signals.listen("models") as listener:
        listener.clear()
        signals.touch("models")
        assert await listener.wait(timeout=60)


async def test_another_topic_wakes_nobody() -> None:
    signals = Signals()
    with signals.listen("models") as listener:
        signals.touch("workers")
        assert not await listener.wait(timeout=0)


async def test_a_listener_that_left_is_forgotten() -> None:
    signals = Signals()
    with signals.listen("models") as listener:
        pass
    signals.touch("models")
    assert not await listener.wait(timeout=0)


async def test_a_failing_step_is_tried_again_with_growing_pauses() -> None:
    clock, calls = RecordingClock(), 0

    async def step() -> None:
        nonlocal calls
        calls += 1
        if calls > 9:
            raise Done
        raise ValueError("the database is locked")

    with pytest.raises(Done):
        await keep_reconciling("step", step, signals=Signals(), topics=("t",), every_seconds=60, clock=clock)
    assert clock.slept == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]


async def test_a_change_made_during_a_step_runs_it_again_at_once() -> None:
    signals, calls = Signals(), 0

    async def step() -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Done
        signals.touch("t")

    with pytest.raises(Done):
        async with asyncio.timeout(60):
            await keep_reconciling(
                "step", step, signals=signals, topics=("t",), every_seconds=3600, clock=RecordingClock()
            )


def test_a_thread_outlives_a_step_that_fails() -> None:
    def broken() -> None:
        raise ModuleNotFoundError("vllm")

    assert not attempt("heartbeat", broken)
    assert attempt("heartbeat", lambda: None)
