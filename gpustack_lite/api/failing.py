"""Sign-ins that failed, for the audit log: few rows however many attempts, so that nobody can fill the disk.

The first of an account and address in a minute is written at once; the others of that minute are counted and written
together when it is over. A name that no user has is not written: it may be a password in the wrong field.
"""

import logging
from collections.abc import Iterable

from sqlalchemy.exc import OperationalError

from gpustack_lite.acting import Actor
from gpustack_lite.api.context import Context
from gpustack_lite.api.failures import Failed
from gpustack_lite.db import auditing

log = logging.getLogger(__name__)
UNKNOWN = "(unknown)"


async def note(context: Context, account: str | None, address: str, request_id: str | None) -> None:
    """A database that takes no writes does not make another answer of it.

    `account` is None where no user has the name.
    """
    now = context.ports.clock.monotonic()
    await _write(context, context.failures.heard(account or UNKNOWN, address, now), request_id)


async def flush(context: Context, *, at_end: bool = False) -> None:
    """Write what is counted: of the minutes that are over, or all `at_end`."""
    now = context.ports.clock.monotonic()
    await _write(context, context.failures.over(now, at_end=at_end), None)


async def _write(context: Context, failed: Iterable[Failed], request_id: str | None) -> None:
    if not (told := list(failed)):
        return
    try:
        async with context.db.write() as session:
            for each in told:
                actor = Actor(None, each.account, "none", None, each.address, request_id)
                after = {"count": each.count}
                auditing.note(session, "sign_in_failed", "user", each.address, each.account, after=after, actor=actor)
    except OperationalError:
        log.warning("sign_in_failures_not_noted", extra={"count": sum(each.count for each in told)})
