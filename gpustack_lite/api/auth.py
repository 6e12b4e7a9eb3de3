"""The dependencies that stand before every route. A test holds that no route is without one or on the open list."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute

from gpustack_lite import acting, roles
from gpustack_lite.acting import Actor
from gpustack_lite.api import rights, using
from gpustack_lite.api.addresses import client_address
from gpustack_lite.api.context import Context, Ctx, context_of
from gpustack_lite.api.credentials import CSRF_HEADER, Caller, Presented, digest, is_forged, presented, same
from gpustack_lite.api.rights import Need
from gpustack_lite.db.queries import keys, sessions, users, workers
from gpustack_lite.db.tables import Worker
from gpustack_lite.errors import Refusal


@dataclass(frozen=True, slots=True)
class SignedInCaller:
    """A caller with what it showed, so that a long stream can ask again whether it still holds."""

    caller: Caller
    shown: Presented


async def identify(context: Context, shown: Presented) -> Caller | None:
    """The same answer for every carrier; None for a credential that does not hold (any more).

    Raises:
        Refusal: `key_disabled`.
    """
    if same(shown.secret, context.tokens.cli) and shown.carrier != "cookie":
        return await _local_cli(context)
    found = await _by_digest(context, digest(shown.secret))
    return None if found is None or (shown.carrier == "cookie" and found.kind != "session") else found


async def _by_digest(context: Context, shown: str) -> Caller | None:
    now = context.ports.clock.wall()
    async with context.db.read() as session:
        if login := await sessions.with_user(session, shown, now):
            row, user = login
            return Caller(
                "session",
                row.id,
                user.id or 0,
                user.username,
                user.role,
                expires_at=row.expires_at,
                csrf_digest=row.csrf_digest,
                must_change_password=user.must_change_password,
                used_at=row.seen_at or row.created_at,
                began_at=row.created_at,
            )
        if found := await keys.with_user(session, shown, now):
            key, user = found
            if not key.enabled:
                raise Refusal("key_disabled", status=401)
            return Caller(
                "key",
                key.id,
                user.id or 0,
                user.username,
                user.role,
                scopes=frozenset(roles.held(user.role, key.scopes)),
                models=tuple(key.models),
                expires_at=key.expires_at,
                used_at=key.last_used_at,
            )
    return None


async def _local_cli(context: Context) -> Caller | None:
    async with context.db.read() as session:
        admin = await users.host_admin(session)
    return None if admin is None else Caller("cli", None, admin.id or 0, admin.username, "admin")


def needs(need: Need) -> Callable[[Request, Context], Coroutine[Any, Any, SignedInCaller]]:
    async def check(request: Request, context: Ctx) -> SignedInCaller:
        shown = presented(request.headers, request.cookies)
        if shown is None:
            raise Refusal("credential_missing", status=401)
        caller = await identify(context, shown)
        if caller is None:
            raise Refusal("credential_refused", status=401)
        if is_forged(request.method, shown.carrier, request.headers.get(CSRF_HEADER), caller.csrf_digest):
            raise Refusal("csrf_token_missing", status=403)
        if refused := rights.refuse(caller, need):
            raise refused
        await using.note(context, caller)
        acting.take_over(_actor(caller, request))
        return SignedInCaller(caller, shown)

    check.__dict__["need"] = need
    return check


def _actor(caller: Caller, request: Request) -> Actor:
    where = {"address": client_address(request), "request_id": request.scope.get("request_id")}
    return Actor(caller.user_id, caller.username, caller.kind, caller.id, **where)


Oneself = Annotated[SignedInCaller, Depends(needs("who"))]
Account = Annotated[SignedInCaller, Depends(needs("account"))]
RowReader = Annotated[SignedInCaller, Depends(needs("rows"))]
Reader = Annotated[SignedInCaller, Depends(needs("read"))]
Owner = Annotated[SignedInCaller, Depends(needs("own"))]
Asker = Annotated[SignedInCaller, Depends(needs("inference"))]
Manager = Annotated[SignedInCaller, Depends(needs("model"))]
Admin = Annotated[SignedInCaller, Depends(needs("admin"))]


async def needs_worker(request: Request, context: Ctx) -> Worker:
    """A worker's own credential; a person's key is none."""
    secret = _bearer(request)
    async with context.db.read() as session:
        found = None if secret is None else await workers.by_credential(session, digest(secret))
    if found is None:
        raise Refusal("worker_unknown", status=401)
    return found


async def needs_gateway(request: Request, context: Ctx) -> None:
    if not same(_bearer(request) or "", context.tokens.gateway):
        raise Refusal("gateway_unknown", status=401)


def _bearer(request: Request) -> str | None:
    shown = presented(request.headers, {})
    return shown.secret if shown is not None and shown.carrier == "bearer" else None


needs_worker.__dict__["need"] = "worker"
needs_gateway.__dict__["need"] = "gateway"
AsWorker = Annotated[Worker, Depends(needs_worker)]
AsGateway = Annotated[None, Depends(needs_gateway)]


class CredentialFirst(APIRoute):
    """A body is read once its sender is known: the framework alone would read and parse a stranger's first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        guards = [each.call for each in self.dependant.dependencies if each.call and hasattr(each.call, "need")]

        async def guarded(request: Request) -> Response:
            for guard in guards:
                await guard(request, context_of(request))
            return await handle(request)

        return guarded
