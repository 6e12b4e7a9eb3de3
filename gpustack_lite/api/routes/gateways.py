"""What gateways ask and report."""

import logging
from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.api import restored, waking
from gpustack_lite.api.auth import AsGateway
from gpustack_lite.api.context import Context, Ctx
from gpustack_lite.api.settling import TOPIC
from gpustack_lite.api.streams import poll
from gpustack_lite.db.queries import gateways, spending, stuck, usage
from gpustack_lite.db.tables import GatewayRow
from gpustack_lite.wire import GatewayOrders, GatewayStatus, RoutesReply, Stuck, UsageBatch

log = logging.getLogger(__name__)
router = APIRouter(prefix="/api/gateway/v1", tags=["gateways"], include_in_schema=False)
POLL_SECONDS = 25.0
CATCH_UP_SECONDS = 0.9


@router.get("/routes")
async def routes(
    _: AsGateway,
    context: Ctx,
    epoch: int = -1,
    models: int = -1,
    credentials: int = -1,
    wait: Annotated[float, Query(ge=0, le=60)] = POLL_SECONDS,
    *,
    now: bool = False,
) -> Response:
    """The sections that differ from the gateway's, as soon as one does; 204 when none did.

    With `now` the answer comes at once and holds whatever the API has told anybody before.
    """

    await restored.heed_gateway(context, epoch, models, credentials)
    context.gateways.asked((epoch, credentials))
    context.signals.touch(TOPIC)
    if now:
        await context.published.catch_up(CATCH_UP_SECONDS)

    async def look() -> RoutesReply | None:
        return context.published.newer(epoch, models, credentials)

    found = await poll(context, ("routes",), 0 if now else wait, look)
    if found is None:
        return Response(status_code=204)
    return Response(found.model_dump_json(), media_type="application/json")


@router.post("/usage", status_code=204)
async def receive_usage(body: UsageBatch, _: AsGateway, context: Ctx) -> Response:
    """204 lets the gateway forget the rows, so they are on disk before it is said."""
    async with context.db.write() as session:
        await usage.insert_once(session, body.rows)
    return Response(status_code=204)


@router.post("/status")
async def status(body: GatewayStatus, _: AsGateway, context: Ctx) -> GatewayOrders:
    """What a gateway says every second, and what it is told in return."""
    now = context.ports.clock.wall()
    held = body.epoch, body.credentials_revision
    context.gateways.reported(body.gateway_id, held, context.ports.clock.monotonic())
    context.signals.touch(TOPIC)
    async with context.db.read() as session:
        is_news = gateways.is_news(await session.get(GatewayRow, body.gateway_id), body, now)
    if is_news:
        async with context.db.write() as session:
            await gateways.heard(session, body, now)
        context.signals.touch("gateways")
    context.exchange.heard(body.gateway_id, body.rates, context.ports.clock.monotonic())
    if body.used or body.wake:
        await waking.heed(context, body)
    await _judge(body, context)
    return await _orders(body.gateway_id, context)


async def _judge(body: GatewayStatus, context: Context) -> None:
    """Engines that the gateways call stuck leave the routes, and their workers are told to end them."""
    context.verdicts.heard(body.gateway_id, [each.instance_id for each in body.stuck], context.ports.clock.monotonic())
    if not body.stuck:
        return
    async with context.db.write() as session:
        taken = [each for each in body.stuck if await _take(session, each, context)]
    for each in taken:
        log.warning("engine_judged_stuck", extra={"instance_id": each.instance_id, "code": each.said.code})
    if taken:
        context.signals.touch("instances", "changes", "assignments")


async def _take(session: AsyncSession, verdict: Stuck, context: Context) -> bool:
    return await stuck.take(session, verdict, context.verdicts.agreed(verdict.instance_id), context.ports.clock)


async def _orders(gateway_id: str, context: Context) -> GatewayOrders:
    """The one with the least id asks idle engines for a token; the next one does when it is gone."""
    now = context.ports.clock.monotonic()
    alive = context.gateways.alive(now)
    calendars = context.exchange.calendars(context.published.newer(-1, -1, -1), context.ports.clock.wall())
    async with context.db.read() as session:
        in_flight = await gateways.in_flight_elsewhere(session, gateway_id, alive) if len(alive) > 1 else {}
        spent = await spending.spent(session, calendars) if calendars else {}
    return GatewayOrders(
        gateways=max(1, len(alive)),
        is_prober=alive[:1] == [gateway_id],
        in_flight=in_flight,
        elsewhere=context.exchange.elsewhere(gateway_id, now),
        spent=spent,
    )
