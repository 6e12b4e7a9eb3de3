"""Waits until every living gateway holds a credential, or holds it no more: a new key works, a revoked one does not.

Whoever reads "201" may use the key at once, and whoever reads "204" may rely on it that no gateway takes the key.
The wait is bounded: a gateway that is away must not hold up the answer, and drops what it holds by a bound of its own.
"""

from collections.abc import Callable, Sequence

from gpustack_lite.api.context import STOPPING_TOPIC, Context
from gpustack_lite.wire import Credential

PATIENCE_SECONDS = 2.0
TOPIC = "gateways_heard"


async def settle(context: Context, digest: str, *, is_valid: bool) -> None:
    """Until the credential holds at every gateway, or holds nowhere any more."""

    def is_right(known: Sequence[Credential]) -> bool:
        return any(each.digest == digest and each.enabled for each in known) == is_valid

    await settle_on(context, is_right)


async def settle_on(context: Context, is_right: Callable[[Sequence[Credential]], bool]) -> None:
    """After the commit and the hint. Returns when all know, when the server ends, or after two seconds."""
    clock = context.ports.clock
    deadline = clock.monotonic() + PATIENCE_SECONDS
    with context.signals.listen("routes", TOPIC, STOPPING_TOPIC) as listener:
        while not context.stopping.is_set():
            listener.clear()
            remaining = deadline - clock.monotonic()
            if remaining <= 0 or _is_settled(context, is_right):
                return
            await listener.wait(remaining)


def _is_settled(context: Context, is_right: Callable[[Sequence[Credential]], bool]) -> bool:
    published = context.published.newer(-1, -1, -1)
    if published is None:  # this server publishes nothing yet, so no gateway hears of anything from it
        return True
    wanted = published.epoch, published.credentials_revision
    return is_right(published.credentials or ()) and context.gateways.all_hold(wanted, context.ports.clock.monotonic())
