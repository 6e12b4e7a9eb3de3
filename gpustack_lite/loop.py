"""Keeps steps running for ever: woken by signals, caught by a slow clock, never ended by one failure."""

import logging
from collections.abc import Awaitable, Callable

from gpustack_lite.ports import Clock
from gpustack_lite.signals import Signals

log = logging.getLogger(__name__)
FIRST_RETRY_SECONDS = 0.2
LAST_RETRY_SECONDS = 30.0


async def keep_reconciling(
    name: str,
    step: Callable[[], Awaitable[float | None]],
    *,
    signals: Signals,
    topics: tuple[str, ...],
    every_seconds: float,
    clock: Clock,
) -> None:
    """Run `step` whenever one of `topics` is touched and at least every `every_seconds`.

    A step may answer with the seconds after which it wants to be called again. A failed one is logged with its
    traceback and tried again after 0.2, 0.4 ... 30 s.
    """
    retry_seconds = FIRST_RETRY_SECONDS
    with signals.listen(*topics) as listener:
        while True:
            listener.clear()
            try:
                wanted = await step()
            except Exception:
                log.exception("step_failed", extra={"step": name, "retry_seconds": retry_seconds})
                await clock.sleep(retry_seconds)
                retry_seconds = min(retry_seconds * 2, LAST_RETRY_SECONDS)
                continue
            retry_seconds = FIRST_RETRY_SECONDS
            await listener.wait(every_seconds if wanted is None else min(wanted, every_seconds))


def attempt(name: str, step: Callable[[], None]) -> bool:
    """Run one step of a thread that must not end; whether it succeeded. A failure is logged with its traceback."""
    try:
        step()
    except Exception:
        log.exception("step_failed", extra={"step": name})
        return False
    return True
