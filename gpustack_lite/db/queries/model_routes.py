"""Routes: public names over models, by id or name."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import model_route_document
from gpustack_lite.db.queries import changes
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import Model, ModelRouteRow
from gpustack_lite.errors import NotFound
from gpustack_lite.ports import Clock

_LISTING = Listing(
    sorts={
        "id": col(ModelRouteRow.id),
        "name": col(ModelRouteRow.name),
        "created_at": col(ModelRouteRow.created_at),
        "updated_at": col(ModelRouteRow.updated_at),
    },
    searched=[col(ModelRouteRow.name)],
    unique=col(ModelRouteRow.id),
)


async def by_ref(session: AsyncSession, ref: str) -> ModelRouteRow:
    """Raises:
    NotFound: neither the id nor the name of a route.
    """
    found = await session.get(ModelRouteRow, int(ref)) if is_id(ref) else await by_name(session, ref)
    if found is None:
        raise NotFound("route", ref)
    return found


async def by_name(session: AsyncSession, name: str) -> ModelRouteRow | None:
    return (await session.exec(select(ModelRouteRow).where(ModelRouteRow.name == name))).one_or_none()


async def listed(session: AsyncSession, wish: Wish, hidden: Collection[str] = ()) -> Page[dict[str, Any]]:
    found = await page(
        session, ModelRouteRow, _LISTING, wish, [col(ModelRouteRow.name).not_in(hidden)] if hidden else []
    )
    missing = await _missing(session, found.items)
    return found.map(lambda row: model_route_document(row, missing))


async def document(session: AsyncSession, row: ModelRouteRow) -> dict[str, Any]:
    return model_route_document(row, await _missing(session, [row]))


def models_of(row: ModelRouteRow) -> list[str]:
    return [*(each["model"] for each in row.targets), *row.fallback]


async def leading_to(session: AsyncSession, model: str) -> list[ModelRouteRow]:
    """There are few routes, and JSON columns are searched differently by each database: all are looked at."""
    every = await session.exec(select(ModelRouteRow).order_by(col(ModelRouteRow.name)))
    return [row for row in every if model in models_of(row)]


async def names_among(session: AsyncSession, names: Iterable[str]) -> set[str]:
    """Those of `names` that are names of routes."""
    wanted = select(ModelRouteRow.name).where(col(ModelRouteRow.name).in_(set(names)))
    return set(await session.exec(wanted))


async def record_put(session: AsyncSession, row: ModelRouteRow, clock: Clock) -> dict[str, Any]:
    """Write down that the route is now like this, and answer how."""
    session.add(row)
    await session.flush()
    shown = await document(session, row)
    await changes.record(session, "model_route", "put", row.id or 0, shown, clock)
    return shown


async def remove(session: AsyncSession, row: ModelRouteRow, clock: Clock) -> None:
    await session.delete(row)
    await session.flush()
    await changes.record(session, "model_route", "delete", row.id or 0, None, clock)


async def _missing(session: AsyncSession, rows: Sequence[ModelRouteRow]) -> set[str]:
    """The models that are named in `rows` and do not exist."""
    wanted = {name for row in rows for name in models_of(row)}
    existing: set[str] = set(await session.exec(select(Model.name).where(col(Model.name).in_(wanted))))
    return wanted - existing
