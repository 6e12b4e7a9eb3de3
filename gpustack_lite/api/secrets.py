"""Secrets that the platform needs in clear, such as a hub's token: set, read by ourselves alone, never shown again."""

import logging
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import sealing
from gpustack_lite.api import vault
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import hub_uses, inspections, secrets
from gpustack_lite.errors import NotFound, Refusal

log = logging.getLogger(__name__)
HUB_TOKENS = {"huggingface": "huggingface_token", "modelscope": "modelscope_token"}
"""Kind of hub -> the secret that holds its token."""
OIDC_CLIENT_SECRET = "oidc_client_secret"  # noqa: S105  # its name
NAMES = (*HUB_TOKENS.values(), OIDC_CLIENT_SECRET)


async def secret(context: Context, session: AsyncSession, name: str) -> str | None:
    """The value in clear, for what needs it now; None where nobody set it. Not to be kept, logged or answered.

    Raises:
        Refusal: `secret_key_missing`, `secret_key_wrong` or `secret_damaged`.
    """
    row = await secrets.by_name(session, name)
    return None if row is None else context.vault.ring.open(name, row.sealed)


async def hub_token(context: Context, session: AsyncSession, worker_id: int, hub: str) -> str | None:
    """The token of a hub, for a worker that is to look at something there, or to hold it.

    Raises:
        NotFound: no such hub.
        Refusal: as `secret` does.
    """
    if hub not in HUB_TOKENS:
        raise NotFound("hub", hub)
    if not await hub_uses.is_used(session, worker_id, hub):
        return None
    return await secret(context, session, HUB_TOKENS[hub])


async def listed(context: Context) -> list[dict[str, Any]]:
    """All that there can be, set or not."""
    return [await shown(context, name) for name in NAMES]


async def shown(context: Context, name: str) -> dict[str, Any]:
    must_be_known(name)
    async with context.db.read() as session:
        row = await secrets.by_name(session, name)
    return secrets.document(name, row, is_readable=row is not None and context.vault.ring.opens(row.sealed))


async def put(context: Context, caller: Caller, name: str, value: str) -> dict[str, Any]:
    """Raises:
    NotFound: no secret has this name.
    Refusal: `secret_malformed`, `secret_key_missing`.
    """
    must_be_known(name)
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise Refusal("secret_malformed", param="value", name=name)
    now = context.ports.clock.wall()
    async with context.db.write() as session:  # sealed in here, where no change of the key comes between
        sealed = context.vault.ring.seal(name, value, context.ports.randomness)
        await secrets.put(session, name, sealed, value=value, user=caller.username, now=now)
        if name in HUB_TOKENS.values():
            await inspections.forget_refusals(session)  # what was refused for want of it is asked again
    context.signals.touch("models", "instances", "assignments")
    return await shown(context, name)


async def delete(context: Context, name: str) -> None:
    must_be_known(name)
    async with context.db.write() as session:
        row = await secrets.by_name(session, name)
        if row is None:
            raise NotFound("secret", name)
        await session.delete(row)


async def rotate_key(context: Context) -> int:
    """Seal all anew with another key, and answer how many. Cut at any point, the file opens what the database holds.

    Raises:
        Refusal: `secret_key_missing`, or what one of them cannot be opened for.
    """
    own, disk = context.vault, context.ports.disk
    async with own.turning:
        if own.path is None:
            return await _sealed_anew(context)
        old = vault.texts_of(disk, own.path)
        if not old:
            raise Refusal("secret_key_missing", status=503)
        fresh = sealing.new_key(context.ports.randomness)
        own.keep(disk, own.path, (fresh, *old))
        count = await _sealed_anew(context)
        own.keep(disk, own.path, (fresh,))
    return count


async def _sealed_anew(context: Context) -> int:
    async with context.db.write() as session:
        rows = await secrets.all_rows(session)
        for row in rows:
            value = context.vault.ring.open(row.name, row.sealed)
            row.sealed = context.vault.ring.seal(row.name, value, context.ports.randomness)
            session.add(row)
        auditing.note(session, "rotate_key", "secret", "", "", after={"sealed_anew": len(rows)})
    return len(rows)


async def warn_about_unreadable(context: Context) -> None:
    """One line in the log for each that this server cannot open, so that it is not found out when it is needed."""
    async with context.db.read() as session:
        rows = await secrets.all_rows(session)
    for row in rows:
        if not context.vault.ring.opens(row.sealed):
            log.warning("secret_unreadable", extra={"name_": row.name, "key_id": sealing.key_id_of(row.sealed)})


def must_be_known(name: str) -> None:
    if name not in NAMES:
        raise NotFound("secret", name)
