"""The surface: which plane a path belongs to, and who answers it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from uvicorn._types import ASGIReceiveCallable, ASGISendCallable

from gpustack_lite import __version__
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import anthropic, inference, paths
from gpustack_lite.gateway.call import AsgiCall, Call, ClientGone, UntilClientLeaves
from gpustack_lite.gateway.cors import Cors, without_cookie
from gpustack_lite.gateway.health import Health
from gpustack_lite.gateway.inference import Inference
from gpustack_lite.gateway.listing import Listing
from gpustack_lite.gateway.metrics import Metrics
from gpustack_lite.gateway.relaying import Relaying
from gpustack_lite.relay.runs import Run

log = logging.getLogger(__name__)
Handler = Callable[[Call], Awaitable[None]]
_INSIDE = ("/api/gateway/", "/api/internal/", "/internal/")
_OURS = ("/v1/", "/v2/")
_SERVERS = ("/v1/files", "/v1/batches")
"""What is remembered is the server's."""
_BELOW_SERVERS = ("/v1/files/", "/v1/batches/")
_MODEL = "/v1/models/"
_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Surface:
    """A plain ASGI application."""

    inference: Inference
    listing: Listing
    relaying: Relaying
    health: Health
    metrics: Metrics
    unique_id: Callable[[], str]
    cors: Cors

    async def __call__(self, scope: Any, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        call = AsgiCall(scope, receive, send, self.unique_id())
        with UntilClientLeaves(call.door):
            await self.answer(call)
        self.metrics.count(call)

    async def answer(self, call: Call) -> None:
        """What both lanes do. Whoever calls counts the call afterwards, also when its client has left."""
        async with Answered(call):
            call.path = paths.without_alias(paths.canonical(call.head.raw_path))
            if (b"origin" in call.headers or b"cookie" in call.headers) and call.path.startswith(_OURS):
                self._mind_origin(call)
            await self._serve(call)

    def _mind_origin(self, call: Call) -> None:
        call.extra_fields += self.cors.fields(call.headers)
        if self.cors.brings_no_cookie(call.headers):
            call.headers = without_cookie(call.headers)

    async def carry_on(self, call: Call, work: Awaitable[None]) -> None:
        """An answer that began without us; see `answer`."""
        async with Answered(call):
            await work

    async def _serve(self, call: Call) -> None:
        if call.path in anthropic.PATHS:
            call.extra_fields.append((b"request-id", call.shown_id))  # where its clients look for it
        if call.method == "OPTIONS" and b"origin" in call.headers and call.path.startswith(_OURS):
            await self._answer_preflight(call)
        elif call.path in inference.PATHS:
            _only(call, "POST")
            await self.inference.serve(call)
        elif call.path in _SERVERS or call.path.startswith(_BELOW_SERVERS):
            await self.relaying.relay(call)
        elif call.path.startswith(_OURS):
            await self._show_models(call)
        elif call.path.startswith(_INSIDE):
            raise Refusal("path_unknown", status=404, path=call.path)
        else:
            await self._own(call.path)(call)

    async def _answer_preflight(self, call: Call) -> None:
        """Browsers send it without a credential, and want to hear only who may ask how."""
        fields = self.cors.preflight(call.headers)
        call.extra_fields.clear()
        await call.start(204, fields)
        await call.finish()

    async def _show_models(self, call: Call) -> None:
        if call.path == "/v1/models":
            _only(call, *_READING)
            await self.listing.list(call)
        elif call.path.startswith(_MODEL):
            _only(call, *_READING)
            await self.listing.show(call, call.path.removeprefix(_MODEL))
        else:
            raise Refusal("path_unknown", status=404, path=call.path)

    def _own(self, path: str) -> Handler:
        own: dict[str, Handler] = {
            "/healthz": self.health.alive,
            "/readyz": self.health.ready,
            "/version": _version,
            "/metrics": self.metrics.show,
        }
        return own.get(path, self.relaying.relay)


def _only(call: Call, *methods: str) -> None:
    if call.method not in methods:
        raise Refusal("method_not_allowed", status=405, path=call.path, method=call.method, allowed=", ".join(methods))


async def _version(call: Call) -> None:
    await call.answer_json(200, {"version": __version__})


class Answered:
    """Whatever goes wrong inside becomes an answer; what nobody foresaw is logged, and told without its details."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if isinstance(error, Refusal):
            await self._call.refuse(error)
            return True
        if (
            isinstance(error, asyncio.CancelledError)
            and self._call.ended_by is not None
            and not self._call.door.is_gone
        ):
            await self._end(self._call.ended_by)
            return True
        if not isinstance(error, Exception):
            return False
        if isinstance(error, ClientGone):
            return True
        return await self._own_up(error)

    async def _end(self, refusal: Refusal) -> None:
        task = asyncio.current_task()
        if Run.current is None and task is not None:
            task.uncancel()
        await self._call.end_now(refusal)

    async def _own_up(self, error: Exception) -> bool:
        log.error("request_failed", exc_info=error, extra={"request_id": self._call.id, "path": self._call.path})
        await self._call.refuse(Refusal("internal_error", status=500, request_id=self._call.id))
        return True
