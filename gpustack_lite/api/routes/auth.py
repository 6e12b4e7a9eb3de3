"""Signing in, out, and changing one's password."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api import accounts, oidc
from gpustack_lite.api.addresses import client_address, is_https
from gpustack_lite.api.auth import Account, CredentialFirst, Oneself
from gpustack_lite.api.context import Context, Ctx
from gpustack_lite.api.credentials import SESSION_COOKIE, digest
from gpustack_lite.api.replies import shows
from gpustack_lite.api.schemas.bodies import Login, PasswordChange
from gpustack_lite.api.schemas.public import Me, SignedIn, SignInMethods
from gpustack_lite.api.settling import settle
from gpustack_lite.db import auditing
from gpustack_lite.db.documents import iso, user_document
from gpustack_lite.db.queries import sessions, users
from gpustack_lite.errors import Refusal

LONGEST_AGENT = 300
router = APIRouter(tags=["auth"], route_class=CredentialFirst)


@router.post("/auth/login", responses=shows(SignedIn))
async def login(body: Login, request: Request, context: Ctx) -> JSONResponse:
    address, agent = client_address(request), shown_agent(request)
    signed_in = await accounts.sign_in(
        context, body.username, body.password, address, agent, request_id=request.scope["request_id"]
    )
    answer = JSONResponse(
        {
            "token": signed_in.token,
            "expires_at": iso(signed_in.expires_at),
            "must_change_password": signed_in.must_change_password,
            "csrf_token": signed_in.csrf_token,
        }
    )
    keep_cookie(answer, signed_in.token, request, context)
    return answer


@router.get("/auth/methods", responses=shows(SignInMethods))
async def methods(context: Ctx) -> JSONResponse:
    """What the page of signing in offers."""
    return JSONResponse({"password": context.settings.local_login, "oidc": oidc.is_on(context)})


@router.post("/auth/logout", status_code=204)
async def logout(signed_in: Account, request: Request, context: Ctx) -> Response:
    if signed_in.caller.kind != "session":
        raise Refusal("not_a_session", status=400)
    async with context.db.write() as session:
        await sessions.end(session, signed_in.caller.id or 0)
        auditing.note(session, "sign_out", "session", signed_in.caller.id, signed_in.caller.username)
    context.signals.touch("credentials")
    await settle(context, digest(signed_in.shown.secret), is_valid=False)
    answer = Response(status_code=204)
    answer.delete_cookie(
        SESSION_COOKIE, httponly=True, samesite="strict", secure=is_https(request), path=cookie_path(context)
    )
    return answer


@router.get("/auth/me", responses=shows(Me))
@router.get("/users/me", responses=shows(Me))
async def me(signed_in: Oneself, context: Ctx) -> JSONResponse:
    caller = signed_in.caller
    async with context.db.read() as session:
        user = await users.by_ref(session, str(caller.user_id))
    is_cookie = signed_in.shown.carrier == "cookie"
    return JSONResponse(
        {
            **user_document(user),
            "credential": {"kind": caller.kind, "id": caller.id, "scopes": sorted(caller.scopes)},
            "csrf_token": accounts.csrf_token_of(signed_in.shown.secret) if is_cookie else None,
        }
    )


@router.post("/auth/password", status_code=204)
async def change_password(body: PasswordChange, signed_in: Account, request: Request, context: Ctx) -> Response:
    caller = signed_in.caller
    kept = caller.id if caller.kind == "session" else None
    address = client_address(request)
    await accounts.change_password(context, caller.username, body.current, body.new, address, kept_session=kept)
    return Response(status_code=204)


def keep_cookie(answer: Response, token: str, request: Request, context: Context) -> None:
    answer.set_cookie(
        SESSION_COOKIE,
        token,
        max_age=int(context.settings.session_longest_hours * 3600),
        httponly=True,
        samesite="strict",
        secure=is_https(request),
        path=cookie_path(context),
    )


def cookie_path(context: Context) -> str:
    """Other programs behind the same proxy do not see the console's session."""
    return f"{context.settings.base_path}/"


def shown_agent(request: Request) -> str | None:
    """What the client says of itself, as far as it can be shown."""
    said = "".join(char if char.isprintable() else " " for char in request.headers.get("user-agent", ""))
    return said[:LONGEST_AGENT] or None
