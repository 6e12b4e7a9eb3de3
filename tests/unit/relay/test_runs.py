import asyncio

import pytest

from gpustack_lite.relay.runs import Bell, Run, in_task


class Diary:
    """Work that waits for a bell, twice, and what has happened so far."""

    def __init__(self) -> None:
        self.bell = Bell()
        self.said: list[str] = []

    async def work(self) -> None:
        try:
            self.said.append("begun")
            await self.bell.wait()
            self.said.append("woken")
            await self.bell.wait()
            self.said.append("done")
        except asyncio.CancelledError:
            self.said.append("cancelled")
            raise

    def ended(self) -> None:
        self.said.append("ended")


async def test_a_run_goes_on_inside_the_ring_without_the_event_loop() -> None:
    diary = Diary()
    run = Run(diary.work(), diary.ended)
    run.step()
    diary.bell.ring()
    diary.bell.ring()
    assert diary.said == ["begun", "woken", "done", "ended"]


async def test_a_ring_that_nobody_waits_for_is_lost() -> None:
    diary = Diary()
    diary.bell.ring()
    Run(diary.work(), diary.ended).step()
    assert diary.said == ["begun"]


async def test_the_same_work_runs_in_a_task() -> None:
    diary = Diary()
    task = asyncio.create_task(diary.work())
    for _ in range(2):
        await asyncio.sleep(0)
        diary.bell.ring()
        diary.bell.ring()
    await task
    assert diary.said == ["begun", "woken", "done"]


async def test_cancelled_work_hears_of_it_at_once_and_only_once() -> None:
    diary = Diary()
    run = Run(diary.work(), diary.ended)
    run.step()
    run.cancel()
    run.cancel()
    diary.bell.ring()
    assert diary.said == ["begun", "cancelled", "ended"]


async def test_work_that_waits_for_asyncio_becomes_a_task() -> None:
    event, bell, said = asyncio.Event(), Bell(), list[str]()

    async def work() -> None:
        await event.wait()
        said.append("event")
        await bell.wait()
        said.append("bell")
        async with asyncio.timeout(5):
            await asyncio.sleep(0)
        said.append("timeout")

    Run(work(), lambda: said.append("ended")).step()
    event.set()
    await asyncio.sleep(0.01)
    bell.ring()
    await asyncio.sleep(0.01)
    assert said == ["event", "bell", "timeout", "ended"]


async def test_work_that_needs_a_task_has_one_when_it_says_so() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        await in_task()
        await in_task()
        async with asyncio.timeout(5):
            await asyncio.sleep(0)

    Run(work(), ended.set).step()
    assert not ended.is_set()
    async with asyncio.timeout(5):
        await ended.wait()


async def test_work_that_became_a_task_can_be_cancelled() -> None:
    said = list[str]()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            said.append("cancelled")
            raise

    run = Run(work(), lambda: said.append("ended"))
    run.step()
    await asyncio.sleep(0)
    run.cancel()
    await asyncio.sleep(0.01)
    assert said == ["cancelled", "ended"]


async def test_one_run_may_wake_another() -> None:
    said, bell = list[str](), Bell()

    async def sleeper() -> None:
        await bell.wait()
        said.append("woken")
        await bell.wait()
        said.append("again")

    async def waker() -> None:
        bell.ring()
        said.append("rang")
        await Bell().wait()

    Run(sleeper(), lambda: None).step()
    Run(waker(), lambda: None).step()
    bell.ring()
    assert said == ["woken", "rang", "again"]


async def test_what_nobody_foresaw_comes_out_of_the_step() -> None:
    ended = list[bool]()

    async def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        Run(work(), lambda: ended.append(True)).step()
    assert ended == [True]
