"""What a caller may do, as questions over values: no route decides this by itself."""

from collections.abc import Collection
from datetime import datetime
from typing import Literal

from gpustack_lite import roles
from gpustack_lite.api.credentials import Caller
from gpustack_lite.errors import Refusal

Need = Literal["who", "account", "rows", "inference", "read", "own", "model", "admin"]
"""who: see oneself; account: one's own password and session; rows: what became of own requests; inference: use models,
with the files and batches that belong to that; read: look; own: change what belongs to the caller (keys, sessions);
model: manage one, which of them is asked afterwards; admin: change what everybody uses."""

_BEFORE_THE_PASSWORD_IS_CHANGED = frozenset({"who", "account"})

_SCOPES = {
    "who": ("read", "manage"),
    "rows": ("read", "manage", "inference"),
    "read": ("read", "manage"),
    "inference": ("inference",),
}


def refuse(caller: Caller, need: Need) -> Refusal | None:
    wanted = _SCOPES.get(need, ("manage",))
    if not caller.scopes.intersection(wanted):
        return Refusal("scope_missing", status=403, scope=wanted[0])
    if caller.kind == "session" and caller.must_change_password and need not in _BEFORE_THE_PASSWORD_IS_CHANGED:
        return Refusal("password_change_required", status=403)
    if need in {"inference", "model"} and caller.role == roles.VIEWER:
        return Refusal("viewer_only_reads", status=403)
    if need == "admin" and not caller.is_admin:
        return Refusal("admin_only", status=403)
    return None


def refuse_key(
    maker: Caller,
    scopes: Collection[str],
    models: Collection[str],
    expires_at: datetime | None,
    owner_role: str | None = None,
) -> Refusal | None:
    """A key may do nothing that its maker may not: `manage` covers every scope, an admin's reach every model.

    `owner_role` is that of somebody else whom the key belongs to.
    """
    if roles.held(owner_role or maker.role, scopes) != tuple(scopes):
        return Refusal("viewer_key_reads", status=403, param="scopes")
    if "manage" in scopes and not maker.is_admin:
        return Refusal("key_exceeds_maker", status=403, param="scopes", what="manage")
    if "manage" not in maker.scopes and not set(scopes) <= maker.scopes:
        return Refusal("key_exceeds_maker", status=403, param="scopes", what=", ".join(sorted(scopes)))
    if "*" not in maker.models and not set(models) <= set(maker.models):
        return Refusal("key_exceeds_maker", status=403, param="models", what=", ".join(sorted(models)))
    if maker.expires_at is not None and maker.kind == "key" and (expires_at is None or expires_at > maker.expires_at):
        return Refusal("key_exceeds_maker", status=403, param="expires_at", what=str(expires_at))
    return None


def refuse_weight(caller: Caller, before: int, after: int) -> Refusal | None:
    """A share of the queue is taken from others, so it is not one's own to raise."""
    if after > before and not caller.is_admin:
        return Refusal("weight_admin_only", status=403, param="weight")
    return None


def refuse_account(caller: Caller) -> Refusal | None:
    """Who knows a password or sets a role makes sessions: they know no bounds, so a key that has some must not."""
    if caller.kind == "key" and (caller.expires_at is not None or "*" not in caller.models):
        return Refusal("key_is_limited", status=403)
    return None
