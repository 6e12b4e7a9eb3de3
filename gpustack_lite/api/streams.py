"""Waiting that ends when the server ends, and streams that end when their reader's credential does."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from gpustack_lite.api.auth import SignedInCaller, identify
from gpustack_lite.api.context import STOPPING_TOPIC, Context
from gpustack_lite.errors import Refusal

T = TypeVar("T")
LOOK_AGAIN_SECONDS = 2.0
"""How long a hint that was lost between two servers may delay an answer."""


async def poll(
    context: Context, topics: tuple[str, ...], seconds: float, look: Callable[[], Awaitable[T | None]]
) -> T | None:
    """The first thing that `look` finds, or None when the time is over or the server ends."""
    deadline = context.ports.clock.monotonic() + seconds
    with context.signals.listen(*topics, STOPPING_TOPIC) as listener:
        while True:
            listener.clear()
            found = await look()
            remaining = deadline - context.ports.clock.monotonic()
            if found is not None or remaining <= 0 or context.stopping.is_set():
                return found
            await listener.wait(min(remaining, LOOK_AGAIN_SECONDS))


async def still_holds(context: Context, signed_in: SignedInCaller) -> bool:
    async with context.streams:
        try:
            return await identify(context, signed_in.shown) is not None
        except Refusal:  # it was disabled
            return False


async def ticks(context: Context, topics: tuple[str, ...]) -> AsyncGenerator[None]:
    """At once, whenever a topic is touched, and every two seconds; ends with the server."""
    with context.signals.listen(*topics, STOPPING_TOPIC) as listener:
        while not context.stopping.is_set():
            listener.clear()
            yield
            await listener.wait(LOOK_AGAIN_SECONDS)
