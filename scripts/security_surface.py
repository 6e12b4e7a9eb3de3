"""Every door of a running platform, with its guard: writes docs/security-surface.md, which tests hold against one.

python -m scripts.security_surface
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from gpustack_lite.api.app import described
from gpustack_lite.api.routes import agents, gateways, internal
from gpustack_lite.gateway.inference import PATHS

PAGE = Path(__file__).parents[1] / "docs" / "security-surface.md"
Role = Literal["supervisor", "server", "gateway", "worker", "engine"]


class Socket(NamedTuple):
    """`address` is a pattern of HOST:PORT or of a path below the data directory; `mode` of a Unix socket's file."""

    role: Role
    kind: Literal["tcp", "unix"]
    address: str
    guard: str
    mode: int | None = None


LOOPBACK = r"127\.0\.0\.1:[0-9]+"
_OWNERS = "its file is 0600 in a directory of mode 0700"
SOCKETS = (
    Socket("supervisor", "tcp", LOOPBACK, "the gateways' own: opened once and handed to them, never accepted from"),
    Socket("supervisor", "unix", r"run/(server|gateway-[0-9]+)\.sock(\.new)?", f"as above; {_OWNERS}", 0o600),
    Socket("gateway", "tcp", LOOPBACK, "every path has a rule, below; loopback unless `--host` says otherwise"),
    Socket("gateway", "unix", r"run/gateway-[0-9]+\.sock(\.new)?", f"{_OWNERS}, and the rules below", 0o600),
    Socket("server", "unix", r"run/server\.sock(\.new)?", f"{_OWNERS}, and the rules below", 0o600),
    Socket("engine", "tcp", LOOPBACK, "a key of its own for each instance, known to worker and gateways alone"),
)
"""A worker listens on nothing. With `--host` not loopback the gateway listens there, and at `--tls-port` (9443) too."""
ELSEWHERE = (
    (
        "gateway",
        "`--host`:`--port`, `--tls-port`",
        "only where `--host` is not loopback; TLS by the platform's own",
    ),
    (
        "engines of a replica that several workers carry",
        "the worker's own address, ports of `engine_ports`",
        "none of ours: engines meet there in the clear, so that network is for workers alone",
    ),
    ("MindIE", "127.0.0.1, further ports of `engine_ports`", "management and metrics of an instance; loopback only"),
)


class Route(NamedTuple):
    method: str
    path: str
    guard: str


RULES = {
    "open": "open",
    "who": "any session or key that reads or manages",
    "account": "a session, also one with a first password",
    "rows": "any session or key; own rows only",
    "read": "a session, or a key with `read` or `manage`; what its owner may see",
    "own": "a session, or a key with `manage`; what belongs to the caller",
    "inference": "a key or session with `inference`; own files and batches",
    "model": "an administrator or a manager of the model",
    "admin": "an administrator",
    "worker": "a worker's credential, from its join",
    "gateway": "a gateway's credential",
}
GATEWAY = (
    Route("GET", "/healthz", "open"),
    Route("GET", "/readyz", "open"),
    Route("GET", "/version", "open"),
    Route("GET", "/metrics", "a key that reads, or this machine's own command line"),
    Route("GET", "/v1/models", "a key or session with `inference`; the models it may use"),
    Route("GET", "/v1/models/{id}", "a key or session with `inference`; the models it may use"),
    *(Route("POST", path, "a key or session with `inference`, its limits and its models") for path in sorted(PATHS)),
)
"""What the gateway answers itself; everything else goes to the server, but for what is only for the inside."""
OPEN = frozenset(
    {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/version"),
        ("GET", "/api/v1/version"),
        ("POST", "/api/v1/auth/login"),
        ("GET", "/api/v1/auth/methods"),
        ("GET", "/api/v1/auth/oidc/start"),
        ("GET", "/api/v1/auth/oidc/callback"),
        ("POST", "/api/agent/v1/join"),
        ("GET", "/{path:path}"),
    }
)
"""Without a credential in the header.

A login and a join bring theirs in the body, who signed in elsewhere a code; the last is the console's files.
"""
INSIDE = ("/api/internal/", "/api/gateway/")
"""Not relayed by a gateway: 404 from outside, whoever asks."""


def server_routes() -> list[Route]:
    """As the application has them, with the rule that stands before each."""
    app = described()
    for part in (internal, agents, gateways):
        app.include_router(part.router)
    return sorted({*_routes(app), Route("GET", "/api/v1/openapi.json", "read"), Route("GET", "/api/docs", "read")})


def _routes(app: FastAPI) -> Iterator[Route]:
    for context in iter_route_contexts(app.routes):
        if not isinstance(context.original_route, APIRoute) or context.dependant is None:
            continue
        for method in sorted((context.methods or set()) - {"HEAD"}):
            yield Route(method, str(context.path), _rule_of(context.dependant))


def _rule_of(dependant: Dependant) -> str:
    needs = [need for each in dependant.dependencies if (need := getattr(each.call, "need", None))]
    return needs[0] if needs else "open"


def filled(path: str) -> str:
    """With references to nothing."""
    return re.sub(r"\{[^}]*\}", "999999999", path)


def page() -> str:
    return "\n".join(
        (
            "# Doors",
            "Every listening socket and every route, each with what stands before it. This page is written by "
            "`python -m scripts.security_surface`; tests start a platform, walk its sockets and routes, and fail where "
            "one is not here (`tests/security/test_sockets.py`, `test_routes.py`). What is confined behind them: "
            "[confinement](confinement.md).",
            "",
            "## Sockets",
            *_table(("who listens", "where", "guard"), [_socket(each) for each in SOCKETS]),
            "",
            "A worker listens on nothing. Beside these, where somebody asked for it:",
            "",
            *_table(("who", "where", "guard"), ELSEWHERE),
            "",
            "## Routes that the gateway answers",
            "Whatever is not in a table is 404. Nothing of an engine is reachable but the POST paths here: no "
            "`/v1/load_lora_adapter`, `/stopService`, `/reset_prefix_cache`, `/slots`, `/sleep`, no `/metrics` and no "
            "`/docs` of one.",
            "",
            *_table(("method", "path", "guard"), [(each.method, f"`{each.path}`", each.guard) for each in GATEWAY]),
            "",
            "## Routes of the server",
            "Reached through the gateway, except what lies below `/api/internal/` and `/api/gateway/`: "
            "that is 404 from outside.",
            "",
            *_table(("method", "path", "guard"), [(r.method, f"`{r.path}`", RULES[r.guard]) for r in server_routes()]),
            "",
            "`GET` of any other path are the console's files: scripts, styles and pictures without data, open.",
            "",
        )
    )


def _socket(each: Socket) -> tuple[str, str, str]:
    plain = each.address.removesuffix(r"(\.new)?").replace("\\", "").replace("[0-9]+", "N").replace("|", " or ")
    shown = "127.0.0.1" if each.kind == "tcp" else f"`DATA_DIR/{plain}`"
    return each.role, shown, each.guard


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
