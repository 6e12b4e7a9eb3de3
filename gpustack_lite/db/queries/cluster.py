"""Counters, secrets and the lease: what the servers of one database agree on."""

import hashlib
import hmac
from datetime import timedelta

from sqlmodel import col, select, update
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.tables import Counter, Leadership, Secret
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Clock, Randomness

CLUSTER = "cluster"
CHANGES = "changes"
MODELS = "models"
CREDENTIALS = "credentials"
ENGINE_KEYS = "engine_keys"
LATEST_EPOCH = 2**30


async def next_counter(session: AsyncSession, name: str) -> int:
    """Move the counter in this transaction and answer its new value; the first value is 1."""
    statement = update(Counter).where(col(Counter.name) == name).values(value=col(Counter.value) + 1)
    value = (await session.exec(statement.returning(col(Counter.value)))).scalar_one_or_none()
    if value is not None:
        return int(value)
    session.add(Counter(name=name, value=1))
    await session.flush()
    return 1


async def counter(session: AsyncSession, name: str) -> int:
    return (await session.exec(select(Counter.value).where(Counter.name == name))).one_or_none() or 0


async def advance_if_unmoved(session: AsyncSession, name: str, seen: int) -> int | None:
    """The next value, or None when somebody moved the counter after it was `seen`."""
    if seen == 0 and await counter(session, name) == 0:
        return await next_counter(session, name)
    statement = update(Counter).where(col(Counter.name) == name, col(Counter.value) == seen)
    moved = await session.exec(statement.values(value=seen + 1).returning(col(Counter.value)))
    value = moved.scalar_one_or_none()
    return None if value is None else int(value)


async def secret(session: AsyncSession, name: str, randomness: Randomness) -> str:
    """The cluster's secret of this name; made at the first question, in a writing transaction."""
    found = await session.get(Secret, name)
    if found is None:
        found = Secret(name=name, value=randomness.token())
        session.add(found)
        await session.flush()
    return found.value


def engine_key(secret: str, instance_id: int) -> str:
    """The key of one engine: hex HMAC-SHA256, so that it need not be stored."""
    return hmac.new(secret.encode(), f"engine:{instance_id}".encode(), hashlib.sha256).hexdigest()


async def epoch(session: AsyncSession) -> int:
    return (await session.exec(select(Leadership.epoch).where(Leadership.id == 1))).one_or_none() or 0


async def take_lease(session: AsyncSession, server_id: str, run_id: str, seconds: float, clock: Clock) -> int | None:
    """Take or renew the lease; the epoch it is held under, or None while another server holds it.

    `server_id` names the data dir (locked by its one process), `run_id` this run of it: a restarted server need not
    wait for its own predecessor. The epoch grows whenever the lease changes hands.
    """
    holder = f"{server_id}#{run_id}"
    row = await session.get(Leadership, 1, with_for_update=True) or Leadership(id=1)
    now = clock.wall()
    is_free = row.expires_at is None or row.expires_at <= now or row.holder.partition("#")[0] == server_id
    if row.holder != holder and not is_free:
        return None
    if row.holder != holder:
        row.holder, row.epoch = holder, row.epoch + 1
    row.expires_at = now + timedelta(seconds=seconds)
    session.add(row)
    await session.flush()
    return row.epoch


async def overtake(session: AsyncSession, epoch: int) -> bool:
    """Move our epoch beyond one that a machine knows from a later time than this database's: a backup was restored.

    Whoever leads finds the epoch moved, and takes the lease anew under it. False where there is nothing to overtake.
    """
    row = await session.get(Leadership, 1, with_for_update=True)
    if row is None or not row.epoch <= epoch < LATEST_EPOCH:
        return False
    row.epoch = epoch + 1
    session.add(row)
    return True


async def release_lease(session: AsyncSession, server_id: str, run_id: str, clock: Clock) -> None:
    """Let another server take over at once, if the lease is ours."""
    row = await session.get(Leadership, 1, with_for_update=True)
    if row is not None and row.holder == f"{server_id}#{run_id}":
        row.expires_at = clock.wall()
        session.add(row)


async def guard(session: AsyncSession, epoch: int) -> None:
    """First in every reconciler's transaction: nothing is written under an epoch that has passed.

    Raises:
        Refusal: `not_leading`.
    """
    statement = update(Leadership).where(col(Leadership.id) == 1, col(Leadership.epoch) == epoch).values(epoch=epoch)
    held = await session.exec(statement.returning(col(Leadership.epoch)))
    if held.scalar_one_or_none() is None:
        raise Refusal("not_leading", status=503)
