"""What gateways must know, and what they acknowledged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.members import workers_of
from gpustack_lite.db.queries import backends, batches, cluster, groups, inspections, moves
from gpustack_lite.db.queries.replicas import Fleet, fleet
from gpustack_lite.db.tables import (
    ApiKey,
    Batch,
    GatewayRow,
    Inspection,
    LoginSession,
    ModelInstance,
    ModelRouteRow,
    Secret,
    User,
    Worker,
)
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Clock

COUNTED_SECONDS = 60.0
"""A gateway that is silent for longer has no say in a drain."""


TOLD_AS_EXPIRED = timedelta(days=30)
"""For so long a gateway can say that a key expired; later it is one that nobody knows."""


@dataclass(frozen=True, slots=True)
class Published:
    """One consistent view of everything that routes and credentials are made of."""

    epoch: int
    models_revision: int
    credentials_revision: int
    fleet: Fleet
    workers: dict[int, Worker]
    engine_secret: str | None
    keys: Sequence[tuple[ApiKey, User]]
    sessions: Sequence[tuple[LoginSession, User]]
    named: Sequence[ModelRouteRow] = ()
    facts: Mapping[str, Inspection] = field(default_factory=dict)
    """By source: one worker's answer; copies differ in nothing that clients are told."""
    customs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    batches: Sequence[tuple[Batch, User]] = ()
    groups: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Of each user that is in one."""

    @property
    def leaving(self) -> list[ModelInstance]:
        """STOPPING instances of which no revision says yet that they left the routes."""
        every = [each for group in self.fleet.instances.values() for each in group]
        return [each for each in every if each.state == State.STOPPING and each.left_routes_at_revision is None]


async def view(session: AsyncSession, now: datetime) -> Published:
    secret = await session.get(Secret, cluster.ENGINE_KEYS)
    keys = select(ApiKey, User).join(User, col(User.id) == col(ApiKey.user_id)).where(col(User.active).is_(True))
    told = or_(col(ApiKey.expires_at).is_(None), col(ApiKey.expires_at) > now - TOLD_AS_EXPIRED)
    sessions = select(LoginSession, User).join(User, col(User.id) == col(LoginSession.user_id))
    models = await fleet(session)
    answers = await inspections.of_sources(session, {each.files_source for each in models.models.values()})
    valid = (col(User.active).is_(True), col(LoginSession.expires_at) > now)
    return Published(
        epoch=await cluster.epoch(session),
        models_revision=await cluster.counter(session, cluster.MODELS),
        credentials_revision=await cluster.counter(session, cluster.CREDENTIALS),
        fleet=models,
        workers={each.id or 0: each for each in await session.exec(select(Worker))},
        engine_secret=secret.value if secret else None,
        keys=list(await session.exec(keys.where(told).order_by(col(ApiKey.id)))),
        sessions=list(await session.exec(sessions.where(*valid).order_by(col(LoginSession.id)))),
        named=list(await session.exec(select(ModelRouteRow).order_by(col(ModelRouteRow.name)))),
        facts={each.source: each for each in answers if each.facts is not None},
        customs={each.name: {"name": each.name, **each.spec} for each in await backends.all_custom(session)},
        batches=await batches.sent(session),
        groups=await groups.by_user(session),
    )


async def mark_left(session: AsyncSession, instances: Sequence[ModelInstance], revision: int) -> None:
    for instance in instances:
        instance.left_routes_at_revision = revision
        session.add(instance)


async def draining(session: AsyncSession) -> list[ModelInstance]:
    """STOPPING instances that are still to serve what they hold."""
    found = select(ModelInstance).where(
        ModelInstance.state == str(State.STOPPING), col(ModelInstance.released).is_(False)
    )
    return list(await session.exec(found.order_by(col(ModelInstance.id))))


async def counted_gateways(session: AsyncSession, clock: Clock) -> list[GatewayRow]:
    since = clock.wall() - timedelta(seconds=COUNTED_SECONDS)
    return list(await session.exec(select(GatewayRow).where(col(GatewayRow.seen_at) > since)))


async def release(session: AsyncSession, instances: Sequence[ModelInstance], clock: Clock) -> None:
    """Their processes are to end now: they leave the Assignments."""
    for instance in instances:
        instance.released = True
        await moves.put_instance(session, instance, clock)
    if instances:
        await moves.change_assignment(session, *{id_ for each in instances for id_ in workers_of(each)})
