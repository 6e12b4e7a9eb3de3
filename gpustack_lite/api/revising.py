"""The history of a model's configuration, and going back in it: an ordinary change, to what was there before."""

from collections.abc import Mapping
from typing import Any

from gpustack_lite.api import deploying, seeing
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller
from gpustack_lite.api.schemas.bodies import ModelCreate
from gpustack_lite.db.queries import models, revisions


async def listed(context: Context, caller: Caller, ref: str) -> list[dict[str, Any]]:
    async with context.db.read() as session:
        model = await seeing.model(session, caller, ref)
        shows_actor = await seeing.may_manage(session, caller, model)
        rows = await revisions.of_model(session, model)
    return [revisions.document(row, model, shows_actor=shows_actor) for row in rows]


async def shown(context: Context, caller: Caller, ref: str, generation: int) -> dict[str, Any]:
    async with context.db.read() as session:
        model = await seeing.model(session, caller, ref)
        shows_actor = await seeing.may_manage(session, caller, model)
        row = await revisions.at(session, model, generation)
    return revisions.whole(row, model, shows_actor=shows_actor)


async def rollback(context: Context, caller: Caller, ref: str, generation: int) -> dict[str, Any]:
    """What holds for a change holds here: a manager goes back in what a manager may change.

    Raises:
        NotFound: no such model, or it was never of this generation.
        Refusal: what `seeing.must_manage` and a change refuse.
    """
    await seeing.must_manage(context, caller, ref)
    async with context.db.read() as session:
        model = await models.by_ref(session, ref)
        spec = (await revisions.at(session, model, generation)).spec

    def as_it_was(before: Mapping[str, Any]) -> ModelCreate:
        seeing.refuse_closed(caller, {name for name in spec if before.get(name) != spec[name]})
        return ModelCreate.model_validate(spec)

    return await deploying.become(context, ref, as_it_was, called="roll_back")
