"""The server's HTTP application, put together."""

import platform
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, JSONResponse

import gpustack_lite
from gpustack_lite.api import docs_page, refusals
from gpustack_lite.api.auth import Reader
from gpustack_lite.api.console import Console, ConsoleRoute
from gpustack_lite.api.context import Context
from gpustack_lite.api.door import Door
from gpustack_lite.api.routes import (
    agents,
    audit,
    auth,
    backends,
    batches,
    compare,
    devices,
    engine_versions,
    evaluate,
    events,
    files,
    gateways,
    groups,
    instances,
    internal,
    keys,
    model_files,
    model_routes,
    models,
    oidc,
    rebalance,
    requests,
    secrets,
    sessions,
    usage,
    users,
    watch,
    workers,
)
from gpustack_lite.api.schemas.public import ErrorShape

PREFIX = "/api/v1"
CONSOLE_FILES = Path(gpustack_lite.__file__).parent / "ui"
MANAGEMENT = (
    auth,
    oidc,
    users,
    groups,
    sessions,
    secrets,
    models,
    model_routes,
    evaluate,
    rebalance,
    instances,
    workers,
    devices,
    model_files,
    keys,
    engine_versions,
    backends,
    events,
    audit,
    requests,
    usage,
    watch,
    compare,
)


def build(context: Context, console_files: Path = CONSOLE_FILES) -> FastAPI:
    app = described()
    app.state.context = context
    for part in (internal, agents, gateways):
        app.include_router(part.router)
    _add_reference(app)
    app.router.routes.append(ConsoleRoute(Console(console_files)))
    refusals.install(app)
    app.add_middleware(Door, hosts=own_hosts(context), randomness=context.ports.randomness)
    return app


def described() -> FastAPI:
    """The routes that OpenAPI tells of, without a server around them: what the console's types are made from."""
    app = FastAPI(
        title="gpustack-lite",
        version=gpustack_lite.__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    errors: dict[int | str, dict[str, Any]] = {"4XX": {"model": ErrorShape}, "503": {"model": ErrorShape}}
    for part in MANAGEMENT:
        app.include_router(part.router, prefix=PREFIX, responses=errors)
    for part in (files, batches):
        app.include_router(part.router, responses=errors)
    return app


def own_hosts(context: Context) -> set[str]:
    own = {platform.node(), platform.node().partition(".")[0]} - {""}
    return own | set(context.settings.allowed_hosts)


def _add_reference(app: FastAPI) -> None:
    @app.get(f"{PREFIX}/openapi.json", include_in_schema=False)
    async def openapi(_: Reader) -> JSONResponse:
        return JSONResponse(app.openapi())

    @app.get("/api/docs", include_in_schema=False)
    async def docs(_: Reader) -> HTMLResponse:
        return HTMLResponse(docs_page.page(app.openapi()))
