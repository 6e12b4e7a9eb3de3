"""Lists by keyset: a page goes on behind the last row it showed, so rows that come and go do not shift it."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, and_, or_
from sqlmodel import SQLModel, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import cluster
from gpustack_lite.db.tables import UtcTime
from gpustack_lite.errors import Refusal

Row = TypeVar("Row", bound=SQLModel)
T = TypeVar("T")
U = TypeVar("U")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Wish:
    """`sort` is a column's public name, with a minus in front for descending order."""

    limit: int = 100
    cursor: str | None = None
    q: str | None = None
    sort: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`revision` is the change counter in the snapshot of the items: watch from it and nothing is missed."""

    items: list[T]
    next_cursor: str | None
    total: int
    revision: int

    def map(self, shape: Callable[[T], U]) -> "Page[U]":
        return Page([shape(item) for item in self.items], self.next_cursor, self.total, self.revision)


@dataclass(frozen=True, slots=True)
class Listing:
    """How one table is listed: what it may be sorted by, where `q` looks, and the unique last key."""

    sorts: Mapping[str, Any]
    searched: Sequence[Any]
    unique: Any
    default: str = "id"


async def page(
    session: AsyncSession, table: type[Row], listing: Listing, wish: Wish, where: Sequence[ColumnElement[bool]] = ()
) -> Page[Row]:
    """Raises:
    Refusal: `bad_cursor` or `unknown_sort`.
    """
    revision = await cluster.counter(session, cluster.CHANGES)
    column, descending = _order(listing, wish.sort)
    conditions = [*where, *_matching(listing, wish.q)]
    total = (await session.exec(select(func.count()).select_from(table).where(*conditions))).one()
    if wish.cursor is not None:
        conditions.append(_behind(wish.cursor, column, listing.unique, descending=descending))
    order = [each.desc() if descending else each.asc() for each in (column, listing.unique)]
    rows = (await session.exec(select(table).where(*conditions).order_by(*order).limit(wish.limit + 1))).all()
    shown = list(rows[: wish.limit])
    has_more = len(rows) > wish.limit
    return Page(shown, _cursor(shown[-1], column, listing.unique) if has_more else None, total, revision)


def _order(listing: Listing, sort: str | None) -> tuple[Any, bool]:
    wanted = sort or listing.default
    name = wanted.removeprefix("-")
    if name not in listing.sorts:
        raise Refusal("unknown_sort", param="sort", sort=wanted, names=", ".join(sorted(listing.sorts)))
    return listing.sorts[name], wanted.startswith("-")


def _matching(listing: Listing, q: str | None) -> list[ColumnElement[bool]]:
    if not q:
        return []
    return [or_(*(column.icontains(q, autoescape=True) for column in listing.searched))]


def _cursor(row: SQLModel, column: Any, unique: Any) -> str:
    value = getattr(row, column.key)
    shown = value.isoformat() if isinstance(value, datetime) else value
    return base64.urlsafe_b64encode(json.dumps([column.key, shown, getattr(row, unique.key)]).encode()).decode()


def _behind(cursor: str, column: Any, unique: Any, *, descending: bool) -> ColumnElement[bool]:
    value, last = _decode(cursor, column, unique)
    if descending:
        return or_(column < value, and_(column == value, unique < last))
    return or_(column > value, and_(column == value, unique > last))


def _decode(cursor: str, column: Any, unique: Any) -> tuple[Any, Any]:
    try:
        key, value, last = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        if isinstance(column.type, UtcTime):
            value = datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error) as error:
        raise Refusal("bad_cursor", param="cursor") from error
    if key != column.key or not _fits(value, column) or not _fits(last, unique):
        raise Refusal("bad_cursor", param="cursor")
    return value, last


def _fits(value: Any, column: Any) -> bool:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    if isinstance(value, str) and _UNSTORABLE.search(value):
        return False
    return isinstance(value, column.type.python_type) and not isinstance(value, bool)
