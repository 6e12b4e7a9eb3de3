"""What a person may see, read from what guards it."""

from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import access
from gpustack_lite.access import Guarded, Person, Sight
from gpustack_lite.db.queries import groups
from gpustack_lite.db.queries.model_routes import models_of
from gpustack_lite.db.tables import Model, ModelRouteRow


async def person(session: AsyncSession, user_id: int, role: str) -> Person:
    return Person(user_id, role, await groups.of_user(session, user_id))


async def sight(session: AsyncSession, who: Person) -> Sight:
    if who.is_admin:
        return Sight()
    models = [Guarded(id_ or 0, *rest) for id_, *rest in await session.exec(select(Model.id, Model.name, Model.access))]
    return access.sight(models, map(guarded_route, await session.exec(select(ModelRouteRow))), who)


def guarded_route(row: ModelRouteRow) -> Guarded:
    return Guarded(row.id or 0, row.name, row.access, tuple(models_of(row)))
