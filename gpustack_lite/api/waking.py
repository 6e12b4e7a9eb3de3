"""What gateways say of models: that they are used, and that one which sleeps is asked for."""

from gpustack_lite.api.context import Context
from gpustack_lite.db.idleness import is_use_news
from gpustack_lite.db.queries import sleep
from gpustack_lite.wire import GatewayStatus


async def heed(context: Context, status: GatewayStatus) -> None:
    """Most of what is said every second is known, and is not written."""
    clock = context.ports.clock
    async with context.db.read() as session:
        used = [each.name for each in await sleep.named(session, status.used) if is_use_news(each, clock.wall())]
        asked = [each.name for each in await sleep.named(session, status.wake) if each.asleep and not each.stopped]
    if not used and not asked:
        return
    async with context.db.write() as session:
        for model in await sleep.named(session, used):
            sleep.note_use(session, model, clock.wall())
        woken = [await sleep.wake(session, model, clock) for model in await sleep.named(session, asked)]
    if any(woken):
        context.signals.touch("models", "instances", "changes")
