"""What hangs on a model: what is in flight there, and whose programs use it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db import model_state
from gpustack_lite.db.documents import iso
from gpustack_lite.db.idleness import SILENT
from gpustack_lite.db.queries import users
from gpustack_lite.db.tables import ApiKey, GatewayRow, Model, ModelInstance, UsageRecord

SPAN = timedelta(hours=24)
"""A key that was used within it counts as one that uses the model."""


async def of_model(session: AsyncSession, model: Model, now: datetime) -> dict[str, Any]:
    """`in_flight` and `queued` are None where no gateway has been heard within 15 s: unknown, not zero."""
    gateways = [each for each in await session.exec(select(GatewayRow)) if now - each.seen_at <= SILENT]
    mine = select(ModelInstance).where(ModelInstance.model_id == model.id)
    ids = [str(each.id) for each in model_state.living((await session.exec(mine)).all())]
    return {
        "in_flight": sum(each.leases.get(id_, 0) for each in gateways for id_ in ids) if gateways else None,
        "queued": sum(each.queued.get(model.name, 0) for each in gateways) if gateways else None,
        "hours": int(SPAN.total_seconds() // 3600),
        "keys": await _keys(session, model, now - SPAN),
    }


async def _keys(session: AsyncSession, model: Model, since: datetime) -> list[dict[str, Any]]:
    """The busiest first; who asked without a key, as the console does, is a row without one."""
    columns: Sequence[Any] = (UsageRecord.key_id, UsageRecord.user_id)
    counts: Sequence[Any] = (func.count(), func.max(col(UsageRecord.started_at)))
    counted: Any = select(*columns, *counts)
    where = col(UsageRecord.model) == model.name, col(UsageRecord.started_at) >= since
    found = (await session.exec(counted.where(*where).group_by(*columns))).all()
    key_names = {id_: name for id_, name in await session.exec(select(ApiKey.id, ApiKey.name))}
    user_names = await users.names_by_id(session)
    rows = [
        {"key": key_names.get(key), "user": user_names.get(user or 0), "requests": count, "last_at": iso(last)}
        for key, user, count, last in found
    ]
    return sorted(rows, key=lambda row: -row["requests"])
