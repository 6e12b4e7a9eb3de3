"""Everything that goes wrong, as one shape: OpenAI's error object, with code and params, in the reader's language."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from gpustack_lite.api import validation
from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import Language, language_of, text

log = logging.getLogger(__name__)
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class BodyTooLarge(HTTPException):
    """An HTTPException, because FastAPI lets those alone pass while it reads a body."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(status_code=413)
        self.refusal = Refusal("body_too_large", status=413, limit_bytes=limit_bytes)


def install(app: FastAPI) -> None:
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(BodyTooLarge, _too_large)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(OperationalError, _database_failed)
    app.add_exception_handler(InterfaceError, _database_failed)
    app.add_exception_handler(Exception, _unexpected)


def language(request: Request) -> Language:
    """`?lang=` wins over Accept-Language, because an EventSource cannot set headers."""
    return language_of(request.query_params.get("lang") or request.headers.get("accept-language"))


def body(refusal: Refusal, lang: Language) -> dict[str, Any]:
    return {
        "error": {
            "message": text(refusal.sentence, lang),
            "type": _TYPES.get(refusal.status)
            or ("server_error" if refusal.status >= 500 else "invalid_request_error"),
            "param": refusal.param,
            "code": refusal.code,
            "params": dict(refusal.params),
        }
    }


def respond(request: Request, refusal: Refusal, headers: dict[str, str] | None = None) -> JSONResponse:
    sent = dict(headers or {})
    if refusal.status == 401:
        sent.setdefault("WWW-Authenticate", "Bearer")
    if refusal.status in {429, 503} and "seconds" in refusal.params:
        sent.setdefault("Retry-After", str(refusal.params["seconds"]))
    return JSONResponse(body(refusal, language(request)), status_code=refusal.status, headers=sent)


def sentence_body(sentence: Sentence, lang: Language) -> dict[str, Any]:
    return {"code": sentence.code, "params": dict(sentence.params), "message": text(sentence, lang)}


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)
    return respond(request, error)


async def _too_large(request: Request, error: Exception) -> JSONResponse:
    """The connection stays: whoever still sends would find it closed and not see this. The gateway ends it."""
    assert isinstance(error, BodyTooLarge)
    return respond(request, error.refusal)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return respond(request, validation.refusal(error.errors(), error.body))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    refusal = _of_status(request, error)
    headers = {"Allow": str(refusal.params["allowed"])} if refusal.status == 405 else dict(error.headers or {})
    return respond(request, refusal, headers)


def _of_status(request: Request, error: HTTPException) -> Refusal:
    if error.status_code == 404:
        return Refusal("no_such_path", status=404, path=request.url.path)
    if error.status_code == 405:
        allowed = ", ".join(sorted(_methods_at(request)))
        return Refusal("method_not_allowed", status=405, method=request.method, path=request.url.path, allowed=allowed)
    if error.status_code == 400:
        return validation.unreadable(error.__cause__)
    return Refusal("http_error", status=error.status_code, http_status=error.status_code)


def _methods_at(request: Request) -> set[str]:
    """Of all routes with this path: the framework names those of the first one alone."""
    contexts = iter_route_contexts(request.app.routes)
    there = [each.methods or set() for each in contexts if each.matches(request.scope)[0] != Match.NONE]
    return set().union(*there)


async def _database_failed(request: Request, error: Exception) -> JSONResponse:
    """A full disk, a lock that did not come free, a database that is away: nothing was written, later may help."""
    assert isinstance(error, DBAPIError)
    why = str(error.orig).strip().partition("\n")[0]
    log.error("database_failed", extra={"why": why, "request_id": request.scope.get("request_id")})
    return respond(request, Refusal("database_failed", status=503, why=why, seconds=1))


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    request_id = str(request.scope.get("request_id", ""))
    log.error("request_failed", exc_info=error, extra={"request_id": request_id, "path": request.url.path})
    headers = {"X-Request-Id": request_id, "Cache-Control": "no-store"}
    return respond(request, Refusal("internal_error", status=500, request_id=request_id), headers)
