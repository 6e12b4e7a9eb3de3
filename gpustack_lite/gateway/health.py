"""/healthz: this process answers. /readyz: it can serve, and what the server says of itself."""

import logging
from typing import Any

import msgspec

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.freshness import Freshness
from gpustack_lite.gateway.server_client import ServerClient
from gpustack_lite.relay.connection import Patience
from gpustack_lite.relay.failures import UpstreamFailed

log = logging.getLogger(__name__)
_SERVER_PATH = b"/api/internal/readyz"
_PATIENCE = Patience(connect_seconds=1.0, first_byte_seconds=2.0, idle_seconds=2.0)
_any = msgspec.json.Decoder()


class Health:
    def __init__(self, freshness: Freshness, server: ServerClient) -> None:
        self._freshness = freshness
        self._server = server
        self._was_ready = False

    async def alive(self, call: Call) -> None:
        await call.answer_json(200, {"status": "ok"})

    async def ready(self, call: Call) -> None:
        """At first the server and its worker must be there too; later good routes are enough, for we serve on."""
        refused = self._refused()
        status, said = await self._ask_server()
        self._was_ready = self._was_ready or status == 200
        is_ready = refused is None and (self._was_ready or status is None)
        document = {
            "status": "ready" if is_ready else "not_ready",
            "routes": refused.code if refused else "fresh",
            "routes_age_seconds": self._freshness.age_seconds,
            "server": said,
        }
        await call.answer_json(200 if is_ready else 503, document)

    def _refused(self) -> Refusal | None:
        try:
            self._freshness.check()
        except Refusal as refusal:
            return refusal
        return None

    async def _ask_server(self) -> tuple[int | None, Any]:
        try:
            status, body = await self._server.ask(b"GET", _SERVER_PATH, patience=_PATIENCE)
            return status, _any.decode(body)
        except UpstreamFailed as failure:
            return None, {"status": "away", "cause": failure.cause}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return status, {"status": "unknown"}
