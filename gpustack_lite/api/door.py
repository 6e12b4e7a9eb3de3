"""What every request passes before a route sees it: host, path, size of the body, an id, and the safe headers."""

import asyncio
import ipaddress
import re
from collections.abc import Collection
from contextlib import ExitStack

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpustack_lite import acting
from gpustack_lite.api.refusals import BodyTooLarge, respond
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Randomness
from gpustack_lite.wire import SCHEME_HEADER

MACHINE_PREFIXES = ("/api/agent/", "/api/gateway/")
ANY_HOST = (*MACHINE_PREFIXES, "/v1/")
"""Nothing there answers without a credential, and a browser sends the console's cookie to its own host alone."""
OPEN_TO_ALL = frozenset({"/api/v1/auth/login", "/api/agent/v1/join"})
"""Their bodies are parsed whoever sends them, so these are small."""
STRANGER_BODY_BYTES = 64 * 1024
PERSON_BODY_BYTES = 1024**2
MACHINE_BODY_BYTES = 32 * 1024**2
PICTURES = "/api/v1/compare"
PICTURES_BODY_BYTES = 4 * 1024**2
"""A prompt may bring pictures; it is held once for each model that is asked."""
UPLOADS = "/v1/files"
"""Bounded where they are read."""
PEOPLE_AT_ONCE = 32
PEOPLE_WAITING = 512
_NEVER_WAIT = (*MACHINE_PREFIXES, "/api/internal/")
_LOG_UPLOAD = re.compile(r"^/api/agent/v1/logs/[^/]+$")
_REQUEST_ID = re.compile(r"^[A-Za-z0-9_.:-]{1,100}$")
_SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "cache-control": "no-store",
}
_ONLY_TLS = "max-age=31536000"
"""HSTS, for a year; not for other names below this one, which may be anybody's."""


class Door:
    """An ASGI middleware. `hosts` are the names that this machine may be asked for."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], randomness: Randomness) -> None:
        self._app = app
        self._hosts = frozenset(host.lower().rstrip(".") for host in hosts)
        self._randomness = randomness
        self._turns = asyncio.Semaphore(PEOPLE_AT_ONCE)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given_id = headers.get("x-request-id", "")
        scope["request_id"] = given_id if _REQUEST_ID.match(given_id) else self._randomness.unique_id()
        limit = body_limit(scope["path"])
        refused = self._refuse(scope, headers, limit)
        answer = _with_safe_headers(send, scope["request_id"], is_https=headers.get(SCHEME_HEADER) == "https")
        if refused is not None:
            await respond(Request(scope), refused)(scope, receive, answer)
            return
        bounded = receive if limit is None else _bounded(receive, limit)
        with acting.nobody():
            if takes_no_turn(scope["path"]):
                await self._app(scope, bounded, answer)
            else:
                await self._in_turn(scope, bounded, answer)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        """However many people ask, the machines find the server at leisure: a worker not heard loses its instances.

        A turn ends when the answer begins, so that a stream holds none.
        """
        if self._waiting >= PEOPLE_WAITING:
            await respond(Request(scope), Refusal("server_busy", status=503, seconds=1))(scope, receive, send)
            return
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        with ExitStack() as turn:
            turn.callback(self._turns.release)

            async def sending(message: Message) -> None:
                turn.close()
                await send(message)

            await self._app(scope, receive, sending)

    def _refuse(self, scope: Scope, headers: Headers, limit: int | None) -> Refusal | None:
        path: str = scope["path"]
        if not path.startswith(ANY_HOST) and not host_is_ours(headers.get("host", ""), self._hosts):
            return Refusal("host_not_ours", status=421, host=headers.get("host", ""))
        if not is_canonical(path):
            return Refusal("path_not_canonical", status=400)
        if b"%00" in scope["query_string"]:
            return Refusal("text_not_whole", status=400, name="query")  # no database can be asked for it
        length = headers.get("content-length", "0")
        if limit is not None and length.isascii() and length.isdigit() and int(length[:18]) > limit:
            return Refusal("body_too_large", status=413, limit_bytes=limit)
        return None


def host_is_ours(host: str, ours: Collection[str]) -> bool:
    """IP literals, localhost and our own names; a foreign name is how DNS rebinding arrives."""
    name = host_name(host)
    if name is None:
        return False
    if name == "localhost" or name.endswith(".localhost") or name in ours or "*" in ours:
        return True
    return _is_address(name)


def host_name(host: str) -> str | None:
    """The name in a Host header without its port, or None where it is no host at all."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s/\\@?#:\[\]]+)(?::[0-9]{1,5})?", host)
    return None if found is None else found[1].strip("[]").lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_canonical(path: str) -> bool:
    """One meaning only: no dot segments, no empty ones, no backslash, nothing unprintable."""
    if not path.startswith("/") or "\\" in path or not path.isprintable():
        return False
    segments = path.split("/")
    return not any(segment in {".", ".."} for segment in segments) and "" not in segments[1:-1]


def takes_no_turn(path: str) -> bool:
    """Machines, whoever opens a log, which waits for a worker, and uploads, which have a bound of their own."""
    return path.startswith(_NEVER_WAIT) or path.endswith("/logs") or path == UPLOADS


def body_limit(path: str) -> int | None:
    """Bytes that a body may have; None for what flows through without being held, a log or a file."""
    if _LOG_UPLOAD.match(path) or path == UPLOADS:
        return None
    if path in OPEN_TO_ALL:
        return STRANGER_BODY_BYTES
    if path == PICTURES:
        return PICTURES_BODY_BYTES
    return MACHINE_BODY_BYTES if path.startswith(MACHINE_PREFIXES) else PERSON_BODY_BYTES


def _bounded(receive: Receive, limit: int) -> Receive:
    seen_bytes = 0

    async def counted() -> Message:
        nonlocal seen_bytes
        message = await receive()
        seen_bytes += len(message.get("body", b""))
        if seen_bytes > limit:
            raise BodyTooLarge(limit)
        return message

    return counted


def _with_safe_headers(send: Send, request_id: str, *, is_https: bool) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("x-request-id", request_id)
            for name, value in _SAFE_HEADERS.items():
                headers.setdefault(name, value)
            if is_https:
                headers.setdefault("strict-transport-security", _ONLY_TLS)
        await send(message)

    return sending
