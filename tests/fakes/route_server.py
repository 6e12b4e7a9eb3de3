"""The server as a gateway sees it: routes by long poll, usage, status, and a few paths to relay to."""

import asyncio
import contextlib
import hashlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from gpustack_lite.wire import (
    Credential,
    GatewayOrders,
    GatewayStatus,
    ModelRoute,
    NamedRoute,
    RoutesReply,
    UsageBatch,
    UsageRow,
)

TOKEN = "gateway-token-for-tests"


def credential(secret: str, **fields: object) -> Credential:
    given = {"kind": "key", "id": 1, "user_id": 1, "user": "ada", "role": "user", "scopes": ("inference",), **fields}
    return Credential(digest=hashlib.sha256(secret.encode()).hexdigest(), **given)


class RouteServer:
    """Listens on a Unix socket that it binds itself. `stop` and `start` play a server that dies and returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.epoch = 1
        self.models: tuple[ModelRoute, ...] = ()
        self.routes: tuple[NamedRoute, ...] = ()
        self.credentials: tuple[Credential, ...] = ()
        self.models_revision = 0
        self.credentials_revision = 0
        self.rows: dict[str, UsageRow] = {}
        self.deliveries: list[UsageBatch] = []
        self.orders = GatewayOrders()
        self.statuses: list[GatewayStatus] = []
        self.usage_answer = 204
        self.uploaded = 0
        self.begun: list[str] = []
        self.asked: tuple[int, int, int] = (-1, -1, -1)
        self._changed = asyncio.Condition()
        self._server: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None

    # --- what a gateway is told

    async def publish(
        self,
        models: tuple[ModelRoute, ...] | None = None,
        credentials: tuple[Credential, ...] | None = None,
        routes: tuple[NamedRoute, ...] | None = None,
    ) -> None:
        """Change sections and wait until the gateway says that it has them; `routes` go with the models."""
        async with self._changed:
            self.routes = self.routes if routes is None else routes
            if models is not None:
                self.models, self.models_revision = models, self.models_revision + 1
            if credentials is not None:
                self.credentials, self.credentials_revision = credentials, self.credentials_revision + 1
            self._changed.notify_all()
        await self.until(lambda: self.asked == (self.epoch, self.models_revision, self.credentials_revision))

    async def until(self, condition: object, seconds: float = 20) -> None:
        """Wait for something that a gateway tells us."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(condition)  # type: ignore[arg-type]

    def reply(self) -> RoutesReply:
        return RoutesReply(
            epoch=self.epoch,
            models_revision=self.models_revision,
            credentials_revision=self.credentials_revision,
            models=self.models,
            routes=self.routes,
            credentials=self.credentials,
        )

    async def _poll(self, epoch: int, models: int, credentials: int, seconds: float) -> Response:
        self.asked = (epoch, models, credentials)
        async with self._changed:
            self._changed.notify_all()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait_for(
                        lambda: (
                            (epoch, models, credentials)
                            != (self.epoch, self.models_revision, self.credentials_revision)
                        )
                    )
                return Response(self.reply().model_dump_json(), media_type="application/json")
        return Response(status_code=204)

    # --- the application

    def _app(self) -> FastAPI:
        app = FastAPI(openapi_url=None)

        @app.middleware("http")
        async def authenticate(request: Request, call_next):  # type: ignore[no-untyped-def]
            self.begun.append(request.url.path)
            is_gateway = request.headers.get("authorization") == f"Bearer {TOKEN}"
            if request.url.path.startswith("/api/gateway/") and not is_gateway:
                return JSONResponse({"error": {"code": "invalid_api_key"}}, status_code=401)
            return await call_next(request)

        @app.get("/api/gateway/v1/routes")
        async def routes(epoch: int, models: int, credentials: int, now: bool = False) -> Response:
            return await self._poll(epoch, models, credentials, 0.001 if now else 5)

        @app.post("/api/gateway/v1/usage")
        async def usage(batch: UsageBatch) -> Response:
            async with self._changed:
                self.deliveries.append(batch)
                if self.usage_answer == 204:
                    self.rows.update({row.request_id: row for row in batch.rows})
                self._changed.notify_all()
            return Response(status_code=self.usage_answer)

        @app.post("/api/gateway/v1/status")
        async def status(document: GatewayStatus) -> GatewayOrders:
            async with self._changed:
                self.statuses.append(document)
                self._changed.notify_all()
            return self.orders

        @app.get("/api/internal/readyz")
        async def readyz() -> JSONResponse:
            return JSONResponse({"ready": True})

        @app.get("/api/v1/watch")
        async def watch() -> StreamingResponse:
            return StreamingResponse(_ticks(), media_type="text/event-stream")

        @app.post("/api/v1/upload")
        async def upload(request: Request) -> JSONResponse:
            size = 0
            async for piece in request.stream():
                size += len(piece)
                self.uploaded = size
            return JSONResponse({"bytes": size})

        @app.get("/api/v1/nothing", status_code=204)
        async def nothing() -> Response:
            return Response(status_code=204)

        @app.api_route("/{path:path}", methods=["GET", "POST", "PUT", "DELETE", "HEAD"])
        async def echo(path: str, request: Request) -> JSONResponse:
            headers = sorted(request.headers.items())
            body = (await request.body()).decode("latin-1")
            document = {"method": request.method, "path": path, "query": request.url.query, "headers": headers}
            return JSONResponse({**document, "body": body})

        return app

    # --- its life

    async def start(self) -> None:
        self.path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        config = uvicorn.Config(self._app(), log_config=None, lifespan="off", access_log=False, ws="none")
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=[listener])

    async def stop(self) -> None:
        """As if killed: every connection ends, nothing is finished."""
        if self._server is None:
            return
        for server in self._server.servers:
            server.close()
        for connection in tuple(self._server.server_state.connections):
            connection.transport.abort()
        tasks = tuple(self._server.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.path.unlink(missing_ok=True)
        self._server = None
        self.asked = (-1, -1, -1)


async def _ticks() -> AsyncIterator[bytes]:
    number = 0
    while True:
        yield b"id: %d\ndata: {}\n\n" % number
        number += 1
        await asyncio.sleep(0.05)
