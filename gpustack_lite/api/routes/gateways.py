"""What gateways ask and report."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from gpustack_lite.api import restored
from gpustack_lite.api.auth import AsGateway
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.settling import TOPIC
from gpustack_lite.api.streams import poll
from gpustack_lite.db.queries import gateways, usage
from gpustack_lite.db.tables import GatewayRow
from gpustack_lite.wire import GatewayOrders, GatewayStatus, RoutesReply, UsageBatch

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
    return GatewayOrders()
