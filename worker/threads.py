"""Threads that do not keep the process from ending while they hang, unlike the event loop's own."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from gpustack_lite.errors import Refusal

T = TypeVar("T")
EXPECTED = (Refusal, OSError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError)


async def in_daemon_thread(work: Callable[[], T], release: Callable[[], None] = lambda: None) -> T:
    """What `work` answers or raises. Who stops waiting leaves it behind; `release` is called when it has ended."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(act: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if future.done() else act())

    def run() -> None:
        try:
            answer = work()
        except EXPECTED as error:
            refusal = error
            tell(lambda: future.set_exception(refusal))
        else:
            tell(lambda: future.set_result(answer))
        finally:
            release()
            tell(lambda: future.set_exception(RuntimeError("the thread ended without an answer")))

    threading.Thread(target=run, name="worker", daemon=True).start()
    return await future
