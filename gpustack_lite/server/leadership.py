"""Holds the lease and, while it is held, keeps the reconcilers running under its epoch."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import cluster
from gpustack_lite.ports import Clock

log = logging.getLogger(__name__)
Lead = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """`server_id` stays with the data dir, `run_id` is made at every start."""

    db: Database
    clock: Clock
    server_id: str
    run_id: str
    lease_seconds: float


async def stand(candidate: Candidate, lead: Lead) -> None:
    """For ever: take the lease when it is free, run `lead(epoch)` while it is ours, end it when it no longer is."""
    while True:
        epoch = await _take(candidate)
        if epoch is not None:
            log.info("lease_taken", extra={"epoch": epoch})
            await _lead_while_held(candidate, epoch, lead)
            log.warning("lease_lost", extra={"epoch": epoch})
        await candidate.clock.sleep(candidate.lease_seconds / 3)


async def _lead_while_held(candidate: Candidate, epoch: int, lead: Lead) -> None:
    leading = asyncio.ensure_future(lead(epoch))
    try:
        await _renew_until_lost(candidate, epoch)
    finally:
        leading.cancel()
        await asyncio.wait([leading])


async def _renew_until_lost(candidate: Candidate, epoch: int) -> None:
    """A database that does not answer leaves us the lease only for as long as it was given."""
    renewed_at = candidate.clock.monotonic()
    while candidate.clock.monotonic() - renewed_at < candidate.lease_seconds:
        await candidate.clock.sleep(candidate.lease_seconds / 3)
        try:
            held = await _renew(candidate)
        except SQLAlchemyError as error:
            log.warning("lease_not_renewed", extra={"why": type(error).__name__})
            continue
        if held != epoch:
            return
        renewed_at = candidate.clock.monotonic()


async def _take(candidate: Candidate) -> int | None:
    try:
        return await _renew(candidate)
    except SQLAlchemyError as error:
        log.warning("lease_not_taken", extra={"why": type(error).__name__})
        return None


async def _renew(candidate: Candidate) -> int | None:
    async with candidate.db.write() as session:
        return await cluster.take_lease(
            session, candidate.server_id, candidate.run_id, candidate.lease_seconds, candidate.clock
        )


async def resign(candidate: Candidate) -> None:
    """An orderly end need not be waited for by a successor; where it cannot be written, the lease runs out."""
    try:
        async with candidate.db.write() as session:
            await cluster.release_lease(session, candidate.server_id, candidate.run_id, candidate.clock)
    except DBAPIError as error:
        log.warning("lease_kept", extra={"why": str(error.orig)})
