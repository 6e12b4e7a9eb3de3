"""The reconciler that carries out moves one by one: the successor is READY first, then the old one is drained."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries import cluster, moves, placing, rebalances, replicas
from gpustack_lite.db.queries.events import insert_event
from gpustack_lite.db.tables import Model, ModelInstance, Rebalance
from gpustack_lite.lifecycle import ENDING, State
from gpustack_lite.server.core import Core
from gpustack_lite.server.making_room import place_at

log = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
Todo = Literal["begin", "wait", "next", "over", "fail"]


async def step(core: Core) -> float | None:
    async with core.db.read() as session:
        row = await rebalances.running(session)
        if row is None:
            return None
        if await _todo(session, row) == "wait":
            return LOOK_SECONDS
    async with core.db.write() as session:
        await cluster.guard(session, core.epoch)
        row = await rebalances.running(session)
        if row is not None:
            await _carry_out(session, core, row, await _todo(session, row))
    core.signals.touch("instances", "assignments", "drain", "changes", "rebalances")
    return 0.0


def todo(move: Mapping[str, Any] | None, instances: Mapping[int, ModelInstance], *, waits: bool) -> Todo:
    """About the move whose turn it is, None after the last. Whoever ended by himself has made room, too."""
    if move is None:
        return "over"
    old = instances.get(move["instance"])
    if old is None:
        return "next"
    if not move["begun"]:
        return "wait" if State(old.state) in ENDING else "begin" if waits else "over"
    if move["stops_first"]:
        return "wait"
    new = instances.get(move["replacement"])
    return "fail" if new is None or new.gave_up or State(new.state) in ENDING else "wait"


async def _todo(session: AsyncSession, row: Rebalance) -> Todo:
    move = row.moves[row.done] if row.done < len(row.moves) else None
    waits = await rebalances.still_waits(session, row.model_id)
    return todo(move, await rebalances.concerned(session, row), waits=waits)


async def _carry_out(session: AsyncSession, core: Core, row: Rebalance, what: Todo) -> None:
    clock = core.ports.clock
    if what == "begin":
        await _begin(session, core, row)
    elif what == "next":
        row.done += 1
        row.updated_at = clock.wall()
        session.add(row)
    elif what == "over":
        await rebalances.end(session, row, "rebalanced", {"name": row.model_name, "count": row.done}, clock)
    elif what == "fail":
        await rebalances.end(session, row, "moved_one_failed", _about(row.moves[row.done]), clock)


async def _begin(session: AsyncSession, core: Core, row: Rebalance) -> None:
    move, clock = row.moves[row.done], core.ports.clock
    old = await session.get_one(ModelInstance, move["instance"])
    if move["stops_first"]:
        await moves.retire(session, old, clock)
        _note(row, begun=True)
    else:
        successor = await _successor(session, core, old, move)
        if successor is None:
            await rebalances.end(session, row, "move_place_taken", _about(move), clock)
            return
        _note(row, begun=True, replacement=successor)
    row.updated_at = clock.wall()
    session.add(row)
    model = await session.get(Model, old.model_id)
    await insert_event(session, clock, "instance_moves", model=model, params=_about(move))
    log.info("instance_moves", extra={"instance_id": old.id, "rebalance_id": row.id})


async def _successor(session: AsyncSession, core: Core, old: ModelInstance, move: Mapping[str, Any]) -> int | None:
    """Made and placed in one transaction, so that nobody is told of it without a place; None where that is taken."""
    snapshot = await placing.snapshot(session, whole=True)
    model, target = snapshot.models[old.model_id], move["to"]
    place = place_at(snapshot, model, target["worker"], target["devices"], core.ports.clock.wall())
    if place is None:
        return None
    made = await replicas.create(session, model, core.ports.clock)
    made.replaces = old.id
    session.add(made)
    await session.flush()
    placed = replace(place, instance_id=made.id or 0, assigned={**place.assigned, "id": made.id})
    await placing.commit(session, snapshot.revision, [placed], core.ports.clock)
    return made.id


def _note(row: Rebalance, **said: Any) -> None:
    """A new list, because a changed one inside the old is not seen."""
    row.moves = [{**each, **said} if index == row.done else each for index, each in enumerate(row.moves)]


def _about(move: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": move["instance"], "name": move["model"], "source": _where(move["from"]), "target": _where(move["to"])}


def _where(place: Mapping[str, Any]) -> str:
    return ", ".join([f"{place['worker']}:{index}" for index in place["devices"]]) or str(place["worker"])
