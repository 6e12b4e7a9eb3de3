"""Writes down that a credential is used, rarely; a session that is used goes on."""

import logging
from datetime import datetime, timedelta

from sqlalchemy.exc import OperationalError

from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller
from gpustack_lite.db.queries import keys, sessions

log = logging.getLogger(__name__)
KEY_SECONDS = 60.0
SESSION_PARTS = 24
"""A session is written again after this part of the time that it lives without being used."""


def is_due(caller: Caller, now: datetime, session_hours: float) -> bool:
    if caller.id is None:
        return False
    rest = timedelta(seconds=KEY_SECONDS) if caller.kind == "key" else timedelta(hours=session_hours / SESSION_PARTS)
    return caller.used_at is None or now - caller.used_at >= rest


def prolonged(began_at: datetime, now: datetime, hours: float, longest_hours: float) -> datetime:
    """Some hours from now, and never beyond the longest that a session may last."""
    return min(now + timedelta(hours=hours), began_at + timedelta(hours=longest_hours))


async def note(context: Context, caller: Caller) -> None:
    """A database that takes no writes still answers readers."""
    now = context.ports.clock.wall()
    if not is_due(caller, now, context.settings.session_hours):
        return
    try:
        await _write(context, caller, now)
    except OperationalError:
        log.warning("use_not_noted", extra={"credential": caller.id})


async def _write(context: Context, caller: Caller, now: datetime) -> None:
    settings = context.settings
    async with context.db.write() as session:
        if caller.kind == "key":
            await keys.note_use(session, {caller.id or 0: now})
            return
        until = prolonged(caller.began_at or now, now, settings.session_hours, settings.session_longest_hours)
        await sessions.note_use(session, caller.id or 0, now, until)
    context.signals.touch("credentials")
