"""Coroutines that callbacks drive: no task and no round of the event loop, until one waits for asyncio itself.

Whoever waits for a `Bell` is resumed inside `ring`, from the very callback that brought the news. The same coroutine
runs in a task as well; there a bell is an ordinary future. So one code serves both, and both answer the same.
"""

import asyncio
import functools
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, ClassVar

_PARKED: Any = object()
_WANTS_TASK: Any = object()
Work = Coroutine[Any, Any, None]


class Run:
    """One coroutine. It begins in `step` and becomes a task by itself when it awaits anything but a bell."""

    __slots__ = ("_on_end", "_task", "_work")
    current: ClassVar["Run | None"] = None
    """The innermost one that is being driven by a callback; None in a task."""

    def __init__(self, work: Work, on_end: Callable[[], None]) -> None:
        self._work: Work | None = work
        self._on_end = on_end
        self._task: asyncio.Task[None] | None = None

    def step(self) -> None:
        if self._work is not None and self._task is None:
            self._drive(self._work.send, None)

    def cancel(self) -> None:
        """The work sees a CancelledError where it waits, at once."""
        if self._task is not None:
            self._task.cancel()
        elif self._work is not None:
            self._drive(self._work.throw, asyncio.CancelledError())

    def _drive(self, go_on: Callable[[Any], Any], news: object) -> None:
        before, Run.current = Run.current, self
        awaited = None
        has_ended = True
        try:
            awaited = go_on(news)
            has_ended = False
        except (StopIteration, asyncio.CancelledError):
            return
        finally:
            Run.current = before
            if has_ended:
                self._end()
        if awaited is not _PARKED:
            self._become_task(awaited)

    def _become_task(self, awaited: object) -> None:
        assert self._work is not None
        self._task = asyncio.get_running_loop().create_task(_begun(self._work, awaited))
        self._task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self._end()
        if not task.cancelled():
            task.result()

    def _end(self) -> None:
        self._work = None
        self._on_end()


class _Begun(Coroutine[Any, Any, None]):
    """A coroutine that waits already, for a task: its first step is that wait."""

    def __init__(self, work: Work, awaited: object) -> None:
        self._work = work
        self._awaited: list[object] = [awaited]

    def send(self, value: Any) -> Any:
        return self._awaited.pop() if self._awaited else self._work.send(value)

    def throw(self, *error: Any) -> Any:
        return self._work.throw(*error)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, None]:
        raise NotImplementedError("it is for a task, which calls send")


def _begun(work: Work, awaited: object) -> Work:
    begun = _Begun(work, awaited)
    if awaited is _WANTS_TASK:
        begun.send(None)
    return begun


@types.coroutine
def in_task() -> Generator[Any, Any, None]:
    """Before whatever asks for the current task, as `asyncio.timeout` does; in a task it costs nothing."""
    if Run.current is not None:
        yield _WANTS_TASK


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Bell:
    """One waits at a time. A ring that nobody waits for is lost: look at the facts before and after waiting."""

    __slots__ = ("_resume",)

    def __init__(self) -> None:
        self._resume: Callable[[], None] | None = None

    def call(self, resume: Callable[[], None]) -> None:
        """Instead of waiting."""
        self._resume = resume

    def ring(self) -> None:
        resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    @types.coroutine
    def wait(self) -> Generator[Any, Any, None]:
        run = Run.current
        try:
            if run is not None:
                self._resume = run.step
                yield _PARKED
            else:
                future = asyncio.get_running_loop().create_future()
                self._resume = functools.partial(_resolve, future)
                yield from future
        finally:
            self._resume = None
