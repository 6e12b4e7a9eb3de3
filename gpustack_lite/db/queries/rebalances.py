"""Rebalances: what is to move where, and how far that has come."""

from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import Model, ModelInstance, Rebalance
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Clock

SHOWN = 100


async def running(session: AsyncSession) -> Rebalance | None:
    return (await session.exec(select(Rebalance).where(Rebalance.state == "running"))).first()


async def newest(session: AsyncSession) -> list[Rebalance]:
    return list(await session.exec(select(Rebalance).order_by(col(Rebalance.id).desc()).limit(SHOWN)))


async def by_ref(session: AsyncSession, ref: str) -> Rebalance:
    found = await session.get(Rebalance, int(ref)) if is_id(ref) else None
    if found is None:
        raise NotFound("rebalance", ref)
    return found


async def begin(session: AsyncSession, row: Rebalance, clock: Clock) -> None:
    """Raises:
    Refusal: `rebalance_running`; two at once would count on the same room.
    """
    other = await running(session)
    if other is not None:
        raise Refusal("rebalance_running", status=409, id=other.id, name=other.model_name)
    session.add(row)
    await session.flush()
    model, params = await session.get(Model, row.model_id), {"count": len(row.moves)}
    await insert_event(session, clock, "rebalance_begun", model=model, params=params)


async def end(session: AsyncSession, row: Rebalance, code: str, params: dict[str, Any], clock: Clock) -> None:
    row.state = "failed" if code in {"move_place_taken", "moved_one_failed"} else "done"
    row.said, row.updated_at = {"code": code, "params": params}, clock.wall()
    session.add(row)
    model = await session.get(Model, row.model_id)
    await insert_event(session, clock, "rebalance_ended", model=model, code=code, params=params)


async def concerned(session: AsyncSession, row: Rebalance) -> dict[int, ModelInstance]:
    """The instances that move, and their successors, as far as they are there."""
    ids = [id_ for move in row.moves for id_ in (move["instance"], move["replacement"]) if id_ is not None]
    found = await session.exec(select(ModelInstance).where(col(ModelInstance.id).in_(ids)))
    return {each.id or 0: each for each in found}


async def still_waits(session: AsyncSession, model_id: int) -> bool:
    waiting = select(ModelInstance.id).where(ModelInstance.model_id == model_id)
    return (await session.exec(waiting.where(ModelInstance.state == str(State.PENDING)).limit(1))).first() is not None


def document(row: Rebalance) -> dict[str, Any]:
    return {
        "id": row.id,
        "model": row.model_name,
        "dry_run": row.id is None,
        "state": row.state,
        "said": row.said,
        "moves": row.moves,
        "place": row.place,
        "done": row.done,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
    }
