"""The console's files as they were built, found by exact name in a list of what is there: nothing else can be read."""

import asyncio
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from gpustack_lite.errors import Refusal

POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; object-src 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""No inline script and no style element: the console sets styles through the DOM only (docs/console.md)."""
NOT_THE_CONSOLE = frozenset(
    {"api", "v1", "v2", "v1-openai", "docs", "redoc", "openapi.json", "swagger.json", "debug", "metrics", "slots"}
)
"""APIs, and where programs look for what other servers tell without asking who it is: a page there would say yes."""
INDEX = "index.html"
_IMMUTABLE = "public, max-age=31536000, immutable"
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>gpustack-lite</title>
<h1>The console is not built</h1>
<p>The server runs; only its web pages are missing. In a checkout, build them with Node 20 or newer:</p>
<pre>cd ui &amp;&amp; npm ci &amp;&amp; npm run build</pre>
<p>The command line does everything as well: <code>gpustack-lite --help</code>.</p></html>
"""


class ConsoleRoute(Route):
    """Every address that belongs to no API."""

    def __init__(self, console: "Console") -> None:
        super().__init__("/{path:path}", console.serve, methods=["GET"], name="console")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        first = scope["path"].split("/")[1] if "path" in scope else ""
        return (Match.NONE, {}) if first in NOT_THE_CONSOLE else super().matches(scope)


@dataclass(frozen=True, slots=True)
class Found:
    path: Path
    is_gzipped: bool


class Console:
    """The list is made again when index.html changes, so that a rebuilt console needs no restart."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, Path] = {}
        self._built_at: int | None = None

    async def serve(self, request: Request) -> Response:
        wanted = request.path_params["path"]
        found = await asyncio.to_thread(self.find, wanted, accepts_gzip(request.headers.get("accept-encoding", "")))
        if found is None:
            return _page(_NOT_BUILT, 200 if not wanted else 404)
        content = await asyncio.to_thread(found.path.read_bytes)
        if found.path.name == INDEX:
            content = from_where_it_is_asked(content, request.scope["path"])
        return Response(content, media_type=media_type(self._name_of(found)), headers=self._headers(found))

    def find(self, wanted: str, gzip: bool) -> Found | None:
        """A file by its name, index.html for the addresses that the console makes up, None where nothing is built."""
        self._look_again()
        name = wanted if wanted in self._files and not wanted.endswith(".gz") else INDEX
        if name == INDEX and wanted.startswith("assets/"):
            raise Refusal("no_such_path", status=404, path=f"/{wanted}")
        if gzip and name != INDEX and f"{name}.gz" in self._files:
            return Found(self._files[f"{name}.gz"], is_gzipped=True)
        path = self._files.get(name)
        return None if path is None else Found(path, is_gzipped=False)

    def _look_again(self) -> None:
        try:
            built_at = (self._root / INDEX).stat().st_mtime_ns
        except OSError:
            self._files, self._built_at = {}, None
            return
        if built_at != self._built_at:
            files = [path for path in self._root.rglob("*") if path.is_file() and not path.is_symlink()]
            self._files = {path.relative_to(self._root).as_posix(): path for path in files}
            self._built_at = built_at

    def _name_of(self, found: Found) -> str:
        return found.path.name.removesuffix(".gz") if found.is_gzipped else found.path.name

    def _headers(self, found: Found) -> dict[str, str]:
        is_asset = found.path.parent == self._root / "assets"
        headers = {"Cache-Control": _IMMUTABLE if is_asset else "no-cache", "Vary": "Accept-Encoding"}
        headers["Content-Security-Policy"] = POLICY
        return headers | ({"Content-Encoding": "gzip"} if found.is_gzipped else {})


def from_where_it_is_asked(page: bytes, path: str) -> bytes:
    """Its files by relative addresses, so that a proxy may show the console below any path without a setting."""
    up = b"../" * (path.count("/") - 1)
    return page.replace(b'"./', b'"./' + up)


def accepts_gzip(header: str) -> bool:
    offers = [offer.replace(" ", "").lower() for offer in header.split(",")]
    return any(offer.split(";")[0] == "gzip" and not offer.endswith(";q=0") for offer in offers)


def media_type(name: str) -> str:
    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return "text/javascript" if guessed == "application/javascript" else guessed


def _page(text: str, status: int) -> HTMLResponse:
    return HTMLResponse(text, status, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"})
