"""API keys: made once, shown once, and gone everywhere when they are revoked."""

from collections.abc import Set
from datetime import timedelta
from typing import Any

from gpustack_lite import roles
from gpustack_lite.api import limiting, rights, rules
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import Caller, digest
from gpustack_lite.api.schemas.bodies import KeyCreate, KeyPatch
from gpustack_lite.api.settling import settle, settle_on
from gpustack_lite.db import auditing
from gpustack_lite.db.documents import key_document
from gpustack_lite.db.queries import changes, events, keys, spending, users
from gpustack_lite.db.tables import ApiKey
from gpustack_lite.errors import Refusal
from gpustack_lite.wire import Credential, Limits

PREFIX_LENGTH = 12


async def create(context: Context, maker: Caller, body: KeyCreate) -> dict[str, Any]:
    """The document with `key`, which nobody can be shown again. It is on disk when this returns."""
    rules.check_name(body.name)
    now = context.ports.clock.wall()
    wanted = ApiKey(
        name=body.name,
        user_id=maker.user_id,
        digest="",
        prefix="",
        scopes=sorted(set(body.scopes)),
        models=list(dict.fromkeys(body.models)),
        expires_at=body.expires_at,
        enabled=body.enabled,
        limits=limiting.merged(None, body.limits),
        weight=body.weight,
        created_at=now,
    )
    _must_be_granted(context, maker, wanted)
    if refused := rights.refuse_weight(maker, 1, wanted.weight):
        raise refused
    secret = _new_secret(context, wanted)
    async with context.db.write() as session:
        session.add(wanted)
        await session.flush()
        document = await _record(context, session, wanted, "key_created")
    context.signals.touch("credentials", "changes")
    await settle(context, wanted.digest, is_valid=wanted.enabled)
    return {**document, "key": secret}


async def change(context: Context, maker: Caller, ref: str, body: KeyPatch) -> dict[str, Any]:
    async with context.db.write() as session:
        key = await keys.by_ref(session, ref, owner_of(maker))
        owner = await users.by_ref(session, str(key.user_id))
        before = key.limits, key.weight
        for name in sorted(body.model_fields_set):
            value = getattr(body, name)
            if value is None and name not in {"expires_at", "limits"}:
                raise Refusal("field_missing", param=name, name=name)
            setattr(key, name, limiting.merged(key.limits, body.limits) if name == "limits" else value)
        rules.check_name(key.name)
        _must_be_granted(context, maker, key, owner.role)
        if refused := rights.refuse_weight(maker, before[1], key.weight):
            raise refused
        session.add(key)
        if key.limits != before[0]:
            await spending.recount(session, f"key:{key.id}", key.limits, context.ports.clock.wall())
        document = await _record(context, session, key, "key_changed")
    context.signals.touch("credentials", "changes")
    await settle_on(context, lambda known: any(_is_of(credential, key) for credential in known))
    return document


def _is_of(credential: Credential, key: ApiKey) -> bool:
    """Whether the gateways are told the key as it is now."""
    told = credential.enabled, credential.limits, credential.weight, credential.expires_at
    limits = Limits.model_validate(key.limits) if key.limits else None
    may = set(credential.scopes), credential.models
    return (
        credential.digest == key.digest
        and told == (key.enabled, limits, key.weight, key.expires_at)
        and may == (set(roles.held(credential.role, key.scopes)), tuple(key.models))
    )


async def rotate(context: Context, maker: Caller, ref: str, overlap: timedelta) -> dict[str, Any]:
    """A new secret for the same key. The one before stays good for the overlap; one before that ends now.

    Whoever rotates a key reads its secret, so the key may do no more than whoever rotates it.
    """
    async with context.db.write() as session:
        key = await keys.by_ref(session, ref, owner_of(maker))
        owner = await users.by_ref(session, str(key.user_id))
        _must_be_granted(context, maker, key, owner.role)
        before, old = key.digest, key.previous_digest
        key.previous_digest, key.previous_until = None, None
        if overlap:
            key.previous_digest, key.previous_until = before, context.ports.clock.wall() + overlap
        secret = _new_secret(context, key)
        session.add(key)
        auditing.note(session, "rotate", "key", key.id, key.name)
        document = await _record(context, session, key, "key_rotated")
    context.signals.touch("credentials", "changes")
    ended = {old, None if overlap else before}
    await settle_on(context, lambda known: _is_rotated({each.digest for each in known}, key.digest, ended))
    return {**document, "key": secret}


def _is_rotated(known: Set[str], new: str, ended: Set[str | None]) -> bool:
    return new in known and not known & ended


def _new_secret(context: Context, key: ApiKey) -> str:
    secret = f"gpl_{context.ports.randomness.token()}"
    key.digest, key.prefix = digest(secret), secret[:PREFIX_LENGTH]
    return secret


async def delete(context: Context, maker: Caller, ref: str) -> None:
    """Committed, and known to every gateway that can be reached, before the caller hears of it."""
    async with context.db.write() as session:
        key = await keys.by_ref(session, ref, owner_of(maker))
        await session.delete(key)
        await session.flush()
        params = {"name": key.name, "prefix": key.prefix}
        await events.insert_event(session, context.ports.clock, "key_deleted", params=params)
        await changes.record(session, "key", "delete", key.id or 0, None, context.ports.clock)
    context.signals.touch("credentials", "changes")
    gone = {key.digest, key.previous_digest}
    await settle_on(context, lambda known: not gone & {each.digest for each in known})


def owner_of(caller: Caller) -> int | None:
    """Whose keys the caller may see: an admin everybody's."""
    return None if caller.is_admin else caller.user_id


def _must_be_granted(context: Context, maker: Caller, key: ApiKey, owner_role: str | None = None) -> None:
    rules.check_plain(key.models, "models")
    if key.expires_at is not None and key.expires_at <= context.ports.clock.wall():
        raise Refusal("expiry_passed", param="expires_at")
    if refused := rights.refuse_key(maker, key.scopes, key.models, key.expires_at, owner_role):
        raise refused


async def _record(context: Context, session: Any, key: ApiKey, kind: str) -> dict[str, Any]:
    owner = await users.by_ref(session, str(key.user_id))
    document = key_document(key, owner.username)
    params = {"name": key.name, "prefix": key.prefix}
    await events.insert_event(session, context.ports.clock, kind, params=params)
    await changes.record(session, "key", "put", key.id or 0, document, context.ports.clock)
    return document
