"""The rows of single requests, and why each ended as it did."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries import users
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.usage import between
from gpustack_lite.db.tables import ApiKey, UsageRecord
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import CATALOGUE

_LISTING = Listing(
    sorts={"started_at": col(UsageRecord.started_at), "seconds": col(UsageRecord.seconds)},
    searched=[col(UsageRecord.model), col(UsageRecord.request_id)],
    unique=col(UsageRecord.request_id),
    default="-started_at",
)
_STATUS = re.compile(r"([1-5])xx|([1-5][0-9]{2})")


@dataclass(frozen=True, slots=True)
class Reach:
    """Whose rows may be seen: those of one user, of one key, or (both None) all."""

    user_id: int | None = None
    key_id: int | None = None

    @property
    def where(self) -> list[ColumnElement[bool]]:
        found = [] if self.user_id is None else [col(UsageRecord.user_id) == self.user_id]
        return found + ([] if self.key_id is None else [col(UsageRecord.key_id) == self.key_id])


@dataclass(frozen=True, slots=True)
class Sought:
    """What a list is narrowed to. `status` is 429 or 4xx, `request` is our id or the one that the client chose."""

    model: str | None = None
    key_id: int | None = None
    user_id: int | None = None
    instance_id: int | None = None
    status: str | None = None
    cause: str | None = None
    request: str | None = None
    start: datetime | None = None
    end: datetime | None = None


async def listed(session: AsyncSession, wish: Wish, sought: Sought, reach: Reach) -> Page[dict[str, Any]]:
    """Raises:
    Refusal: `status_not_understood`, and those of `page`.
    """
    equal = (
        (UsageRecord.key_id, sought.key_id),
        (UsageRecord.user_id, sought.user_id),
        (UsageRecord.instance_id, sought.instance_id),
        (UsageRecord.cause, sought.cause),
    )
    where = [*reach.where, *between(sought.start, sought.end, None), *_status(sought.status)]
    where += [col(column) == value for column, value in equal if value is not None]
    where += [] if sought.model is None else [_is_of(sought.model)]
    where += [] if sought.request is None else [_is_called(sought.request)]
    names = await _names(session)
    return (await page(session, UsageRecord, _LISTING, wish, where)).map(lambda row: document(row, *names))


async def one(session: AsyncSession, ref: str, reach: Reach) -> dict[str, Any]:
    """By our id, else the latest that its client called so.

    Raises:
        Refusal: `request_not_recorded`, 404: there is none, or none that may be seen.
    """
    named = select(UsageRecord).where(_is_called(ref), *reach.where)
    ours_first = col(UsageRecord.request_id) == ref
    found = await session.exec(named.order_by(ours_first.desc(), col(UsageRecord.started_at).desc()).limit(1))
    row = found.one_or_none()
    if row is None:
        raise Refusal("request_not_recorded", status=404, request=ref[:100])
    return document(row, *await _names(session))


def _is_called(ref: str) -> ColumnElement[bool]:
    return or_(col(UsageRecord.request_id) == ref, col(UsageRecord.shown_id) == ref)


def _is_of(model: str) -> ColumnElement[bool]:
    return or_(col(UsageRecord.model) == model, col(UsageRecord.public_name) == model)


def _status(wanted: str | None) -> list[ColumnElement[bool]]:
    if wanted is None:
        return []
    found = _STATUS.fullmatch(wanted)
    if found is None:
        raise Refusal("status_not_understood", param="status", given=wanted[:20])
    first, last = (int(found[1]) * 100, int(found[1]) * 100 + 99) if found[1] else (int(found[2]), int(found[2]))
    return [col(UsageRecord.status).between(first, last)]


async def _names(session: AsyncSession) -> tuple[Mapping[int, str], Mapping[int | None, str]]:
    keys = {id_: name for id_, name in await session.exec(select(ApiKey.id, ApiKey.name))}
    return await users.names_by_id(session), keys


def document(row: UsageRecord, users: Mapping[int, str], keys: Mapping[int | None, str]) -> dict[str, Any]:
    return {
        **row.model_dump(),
        "started_at": iso(row.started_at),
        "user": users.get(row.user_id or 0),
        "key": keys.get(row.key_id),
        "why": why(row),
    }


def why(row: UsageRecord) -> dict[str, Any] | None:
    """One sentence on how it ended; None for a request that was answered."""
    if row.cause is None:
        return None
    code = f"cause_{row.cause}"
    if code not in CATALOGUE:
        code = "cause_refused" if row.instance_id is None else "cause_other"
    return {"code": code, "params": _params(row)}


def _params(row: UsageRecord) -> dict[str, Any]:
    return {
        "cause": row.cause,
        "status": row.status,
        "model": row.public_name or row.model,
        "instance": row.instance_id,
        "worker": row.worker,
        "seconds": round(row.seconds, 1),
        "queued": None if row.queued_seconds is None else round(row.queued_seconds, 1),
        "tokens": row.completion_tokens or 0,
    }
