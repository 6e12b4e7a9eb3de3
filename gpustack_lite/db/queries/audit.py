"""The audit log: rows are appended to one chain, read, and forgotten from the oldest on."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.acting import Actor
from gpustack_lite.audit import TRIM, Content, Head, bounded, linked, masked
from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.tables import AuditHead, AuditRow

AT_ONCE = 500
"""Rows that are read together."""
_LISTING = Listing(
    sorts={"id": col(AuditRow.id), "at": col(AuditRow.at)},
    searched=[col(AuditRow.name), col(AuditRow.actor)],
    unique=col(AuditRow.id),
    default="-id",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What was done to what. `before` and `after` hold what differs, or the whole of what came or went."""

    action: str
    kind: str
    object_id: str
    name: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None

    def over(self, seen: "Entry") -> "Entry":
        """This name for what was seen to change."""
        before = {**(seen.before or {}), **(self.before or {})}
        after = {**(seen.after or {}), **(self.after or {})}
        return replace(self, name=self.name or seen.name, before=before or None, after=after or None)


@dataclass(frozen=True, slots=True)
class Sought:
    """Which rows are wanted; None is all."""

    actor: str | None = None
    kind: str | None = None
    name: str | None = None
    action: str | None = None
    address: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        exact = {name: getattr(self, name) for name in ("actor", "kind", "name", "action", "address")}
        found = [getattr(AuditRow, name) == value for name, value in exact.items() if value is not None]
        found += [] if self.since is None else [col(AuditRow.at) >= self.since]
        return [*found, *([] if self.until is None else [col(AuditRow.at) < self.until])]


async def append(session: AsyncSession, entry: Entry, actor: Actor, now: datetime) -> AuditRow:
    """The next row of the chain. Its head is held until the transaction ends, so that writers follow one another."""
    head = await _locked(session)
    row = AuditRow(
        id=head.rows + 1,
        at=now,
        actor_id=actor.id,
        actor=actor.name,
        carrier=actor.carrier,
        credential_id=actor.credential_id,
        address=actor.address,
        request_id=actor.request_id,
        action=entry.action,
        kind=entry.kind,
        object_id=entry.object_id,
        name=entry.name,
        before=bounded(masked(entry.before)),
        after=bounded(masked(entry.after)),
        digest="",
    )
    row.digest = head.digest = linked(head.digest, content(row))
    head.rows = row.id
    session.add_all((row, head))
    await session.flush()
    return row


async def _locked(session: AsyncSession) -> AuditHead:
    found = await session.get(AuditHead, 1, with_for_update=True)
    if found is None:
        found = AuditHead()
        session.add(found)
        await session.flush()
    return found


def content(row: AuditRow) -> Content:
    """What the digest is made of. The time has microseconds, as both databases keep it."""
    names = (name for name in AuditRow.model_fields if name not in {"at", "digest"})
    return {name: getattr(row, name) for name in names} | {"at": row.at.isoformat(timespec="microseconds")}


def document(row: AuditRow) -> dict[str, Any]:
    return {**row.model_dump(), "at": iso(row.at)}


async def head(session: AsyncSession) -> Head:
    found = await session.get(AuditHead, 1)
    return Head() if found is None else Head(found.rows, found.digest, found.trimmed, found.anchor)


async def listed(session: AsyncSession, wish: Wish, sought: Sought) -> Page[dict[str, Any]]:
    return (await page(session, AuditRow, _LISTING, wish, sought.conditions())).map(document)


async def after(
    session: AsyncSession, row_id: int, conditions: list[ColumnElement[bool]], limit: int = AT_ONCE
) -> list[AuditRow]:
    """The next rows, the oldest first."""
    wanted = select(AuditRow).where(col(AuditRow.id) > row_id, *conditions)
    return list(await session.exec(wanted.order_by(col(AuditRow.id)).limit(limit)))


async def every(session: AsyncSession) -> AsyncIterator[AuditRow]:
    """All rows of one snapshot, the oldest first."""
    last = -(2**62)
    while rows := await after(session, last, []):
        for row in rows:
            yield row
        last = rows[-1].id
        session.expunge_all()


async def oldest(session: AsyncSession) -> datetime | None:
    first = select(AuditRow.at).order_by(col(AuditRow.id)).limit(1)
    return (await session.exec(first)).one_or_none()


async def trim(session: AsyncSession, before: datetime, most: int, now: datetime) -> int:
    """Forget the oldest rows of before that time, and say so in the chain, which vouches for where it now begins."""
    kept = (await session.exec(select(func.min(AuditRow.id)).where(col(AuditRow.at) >= before))).one()
    found = await _locked(session)
    last = min(found.rows if kept is None else kept - 1, found.trimmed + most)
    if last <= found.trimmed:
        return 0
    anchor = await session.get(AuditRow, last)
    if anchor is None:
        return 0  # the chain is broken there: `verify` says so, and nothing more is taken away
    gone = last - found.trimmed
    found.trimmed, found.anchor = last, anchor.digest
    await session.exec(delete(AuditRow).where(col(AuditRow.id) <= last))
    told = Entry(TRIM, "audit", str(last), "", after={"row": last, "digest": found.anchor, "rows": gone})
    await append(session, told, Actor(None, "", "none"), now)
    return gone
