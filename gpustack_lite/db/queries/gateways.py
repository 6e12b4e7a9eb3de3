"""What each gateway last said of itself."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import GatewayRow
from gpustack_lite.wire import GatewayStatus

AT_LEAST_EVERY = timedelta(seconds=5)


def is_news(row: GatewayRow | None, status: GatewayStatus, now: datetime) -> bool:
    """A gateway speaks every second; what it repeats is written every five."""
    if row is None or now - row.seen_at >= AT_LEAST_EVERY:
        return True
    held = status.epoch, status.models_revision, status.credentials_revision
    return _said(row) != (*held, _leases(status), status.queued)


async def heard(session: AsyncSession, status: GatewayStatus, now: datetime) -> None:
    row = await session.get(GatewayRow, status.gateway_id) or GatewayRow(gateway_id=status.gateway_id, seen_at=now)
    row.epoch, row.models_revision = status.epoch, status.models_revision
    row.credentials_revision, row.leases, row.seen_at = status.credentials_revision, _leases(status), now
    row.queued = status.queued
    session.add(row)


async def in_flight_elsewhere(session: AsyncSession, gateway_id: str, alive: Collection[str]) -> dict[int, int]:
    """Instance -> requests that the other living gateways have there."""
    rows = await session.exec(select(GatewayRow).where(col(GatewayRow.gateway_id).in_(alive)))
    counts: Counter[int] = Counter()
    for row in rows:
        if row.gateway_id != gateway_id:
            counts.update({int(id_): count for id_, count in row.leases.items()})
    return dict(counts)


def _said(row: GatewayRow) -> tuple[int, int, int, dict[str, int], dict[str, int]]:
    return row.epoch, row.models_revision, row.credentials_revision, row.leases, row.queued


def _leases(status: GatewayStatus) -> dict[str, int]:
    return {str(instance_id): count for instance_id, count in status.leases.items() if count}
