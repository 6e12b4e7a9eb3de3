"""The two addresses that a browser visits on its way through an identity provider."""

import html
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from gpustack_lite.api import oidc
from gpustack_lite.api.addresses import client_address, is_https
from gpustack_lite.api.auth import CredentialFirst
from gpustack_lite.api.context import Context, Ctx
from gpustack_lite.api.oidc import COOKIE, COOKIE_SECONDS, Returned, Visitor
from gpustack_lite.api.refusals import language
from gpustack_lite.api.replies import Responses
from gpustack_lite.api.routes.auth import cookie_path, keep_cookie, shown_agent
from gpustack_lite.api.schemas.public import ErrorShape
from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import text

Said = Annotated[str | None, Field(max_length=4096)]


class CallbackQuery(BaseModel):
    """RFC 6749, section 4.1.2, and RFC 9207; whatever else a provider adds means nothing to us."""

    state: Said = None
    code: Said = None
    iss: Said = None
    error: Said = None


_PAGE: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}
PAGES: Responses = {
    "4XX": {"description": "A page with one sentence", "model": ErrorShape, **_PAGE},
    502: {"description": "The provider cannot be asked", **_PAGE},
}
router = APIRouter(tags=["auth"], route_class=CredentialFirst)


@router.get("/auth/oidc/start", status_code=303, response_class=RedirectResponse, responses=PAGES)
async def start(request: Request, context: Ctx) -> Response:
    try:
        ticket, there = await oidc.begin(context, _callback(request, context))
    except Refusal as refusal:
        return _told(request, context, refusal)
    answer = RedirectResponse(there, 303)
    answer.set_cookie(
        COOKIE,
        ticket,
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="lax",  # the way back is a visit from the provider's page
        secure=is_https(request),
        path=cookie_path(context),
    )
    return answer


@router.get("/auth/oidc/callback", status_code=303, response_class=RedirectResponse, responses=PAGES)
async def callback(request: Request, context: Ctx, said: Annotated[CallbackQuery, Query()]) -> Response:
    """Nothing in the address says where to go from here: the console is the one place."""
    returned = Returned(request.cookies.get(COOKIE), said.state, said.code, said.iss, said.error)
    visitor = Visitor(
        client_address(request), shown_agent(request), request.scope["request_id"], _callback(request, context)
    )
    try:
        signed_in = await oidc.finish(context, returned, visitor)
    except Refusal as refusal:
        answer = _told(request, context, refusal)
    else:
        answer = RedirectResponse(cookie_path(context), 303)
        keep_cookie(answer, signed_in.token, request, context)
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=is_https(request), path=cookie_path(context))
    return answer


def _callback(request: Request, context: Context) -> str:
    """By the host that the browser asked, which the door has looked at."""
    scheme, host = "https" if is_https(request) else "http", request.headers.get("host", "")
    return f"{scheme}://{host}{context.settings.base_path}{oidc.CALLBACK}"


def _told(request: Request, context: Context, refusal: Refusal) -> Response:
    """A person looks at it, in a browser: one sentence, and the way back."""
    oidc.log_refusal(refusal)
    lang = language(request)
    sentence = html.escape(text(refusal.sentence, lang))
    back = html.escape(text(Sentence("oidc_back", {}), lang))
    page = (
        f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>gpustack-lite</title>'
        f'<p>{sentence}</p><p><a href="{html.escape(cookie_path(context))}">{back}</a></p></html>'
    )
    return HTMLResponse(page, refusal.status, {"x-error-code": refusal.code})
