"""The first start makes the user `admin`, and its password is on disk before the user is."""

import logging

from gpustack_lite.api import accounts
from gpustack_lite.api.context import Context
from gpustack_lite.db.queries import events, users
from gpustack_lite.db.tables import User

log = logging.getLogger(__name__)


async def ensure_admin(context: Context) -> None:
    """Make `admin` where no administrator is, and remove a password file that an interrupted change left behind."""
    async with context.db.read() as session:
        first = await users.by_name(session, users.FIRST_ADMIN)
        admin = await users.host_admin(session)
    if admin is None:
        await _make_admin(context)
    elif first is None or not first.must_change_password:
        context.ports.disk.remove(accounts.password_file(context.data_dir))


async def _make_admin(context: Context) -> None:
    password = accounts.random_password(context)
    hashed = await context.passwords.hash(password)
    async with context.db.write() as session:
        if await users.by_name(session, users.FIRST_ADMIN) is not None:
            return
        accounts.write_password(context, password)
        now = context.ports.clock.wall()
        session.add(User(username=users.FIRST_ADMIN, password_hash=hashed, must_change_password=True, created_at=now))
        await events.insert_event(session, context.ports.clock, "user_created", params={"user": users.FIRST_ADMIN})
    context.signals.touch("credentials", "changes")
    log.info("admin_created", extra={"password_file": str(accounts.password_file(context.data_dir))})
