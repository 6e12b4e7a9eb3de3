"""A hub on loopback that speaks the HTTP APIs of Hugging Face and ModelScope, with faults on order.

What the real clients (huggingface_hub, modelscope_hub) ask for is answered as the real hubs do: commits, trees in
pages, HEAD with X-Repo-Commit and X-Linked-*, redirects to where large files lie, ranges.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

LARGE_BYTES = 4096
"""Files from this size on are LFS files: they lie elsewhere and are redirected to."""
PAGE = 1000


@dataclass
class Repo:
    files: dict[str, bytes | Path]
    commit: str = ""
    token: str | None = None
    gated: bool = False
    revisions: tuple[str, ...] = ("main", "master", "v1.0")

    def __post_init__(self) -> None:
        names = "\n".join(f"{path} {len(self.content(path))}" for path in sorted(self.files))
        self.commit = self.commit or hashlib.sha1(names.encode()).hexdigest()

    def content(self, path: str) -> bytes:
        held = self.files[path]
        return held.read_bytes() if isinstance(held, Path) else held


@dataclass
class Faults:
    """What goes wrong, from now on; each counts how often it may still happen (-1: always)."""

    busy: int = 0
    retry_after: str = "7"
    broken: int = 0
    truncate: int = 0
    no_ranges: bool = False
    wrong_bytes: bool = False
    hold: threading.Event | None = None
    """Answers wait for it: a hub that is slow, without a clock."""
    redirect_to: str | None = None
    """Where large files are said to lie, such as http://other:1."""
    truncate_only: str = ""
    """What has to be in the path of an answer that is cut."""
    stall: threading.Event | None = None
    """What is longer than `stall_above` comes to its half, and goes on when this is set."""
    stall_above: int = 0


@dataclass
class Request:
    method: str
    path: str
    headers: Mapping[str, str]


@dataclass
class Hub:
    repos: dict[str, Repo] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    seen: list[Request] = field(default_factory=list)
    port: int = 0
    page: int = PAGE

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, name: str, files: Mapping[str, bytes | Path | dict[str, Any]], **more: Any) -> Repo:
        made = {path: json.dumps(each).encode() if isinstance(each, dict) else each for path, each in files.items()}
        self.repos[name] = Repo(made, **more)
        return self.repos[name]

    def add_folder(self, name: str, folder: Path, **more: Any) -> Repo:
        paths = [path for path in folder.rglob("*") if path.is_file()]
        return self.add(name, {str(path.relative_to(folder)): path for path in paths}, **more)

    def paths(self) -> list[str]:
        return [each.path for each in self.seen]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is nothing to tell of."""


@contextmanager
def running_hub() -> Iterator[Hub]:
    hub = Hub()
    server = _Server(("127.0.0.1", 0), _handler(hub))
    hub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        if hub.faults.hold is not None:
            hub.faults.hold.set()
        if hub.faults.stall is not None:
            hub.faults.stall.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        world = hub

    return Handler


class _Handler(BaseHTTPRequestHandler):
    world: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, faults = self.world, self.world.faults
        hub.seen.append(Request(self.command, self.path, dict(self.headers.items())))
        if faults.hold is not None:
            faults.hold.wait(60)
        if _spend(faults, "busy"):
            return self._send(429, b"slow down", {"Retry-After": faults.retry_after})
        if _spend(faults, "broken"):
            return self._send(503, b"<html>", {})
        parts = urlsplit(self.path)
        for pattern, act in self._routes():
            if match := re.fullmatch(pattern, parts.path):
                return act(*(unquote(each) for each in match.groups()), **_query(parts.query))
        return self._send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def _routes(self) -> list[tuple[str, Any]]:
        return [
            (r"/api/v1/models/([^/]+/[^/]+)/repo/files", self._ms_files),
            (r"/api/v1/models/([^/]+/[^/]+)/repo", self._ms_file),
            (r"/api/v1/models/([^/]+/[^/]+)/revisions", self._ms_revisions),
            (r"/api/v1/models/([^/]+/[^/]+)", self._ms_about),
            (r"/api/models/(.+?)/revision/([^/]+)", self._hf_revision),
            (r"/api/models/(.+?)/tree/([^/]+)(?:/.*)?", self._hf_tree),
            (r"/api/models/([^/]+(?:/[^/]+)?)", self._hf_revision),
            (r"/cdn/([^/]+/[^/]+)/(.+)", self._cdn),
            (r"/files/([^/]+/[^/]+)/(.+)", self._cdn),
            (r"/(.+?)/resolve/([^/]+)/(.+)", self._hf_file),
        ]

    # --- Hugging Face

    def _hf_repo(self, name: str, revision: str) -> Repo | None:
        repo = self.world.repos.get(name)
        if repo is None:
            self._send(401 if self.headers.get("Authorization") is None else 404, b"", {"X-Error-Code": "RepoNotFound"})
            return None
        if repo.token and self.headers.get("Authorization") != f"Bearer {repo.token}":
            code = {"X-Error-Code": "GatedRepo"} if repo.gated else {"X-Error-Code": "RepoNotFound"}
            self._send(403 if repo.gated else 401, b"{}", code)
            return None
        if revision not in {repo.commit, *repo.revisions}:
            self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            return None
        return repo

    def _hf_revision(self, name: str, revision: str = "main", **_: str) -> None:
        if (repo := self._hf_repo(name, revision)) is None:
            return
        siblings = [{"rfilename": path} for path in sorted(repo.files)]
        about = {"id": name, "modelId": name, "sha": repo.commit, "private": False, "tags": [], "downloads": 0}
        self._json({**about, "gated": repo.gated and "auto", "likes": 0, "siblings": siblings})

    def _hf_tree(self, name: str, revision: str, cursor: str = "0", **_: str) -> None:
        if (repo := self._hf_repo(name, revision)) is None:
            return
        start = int(cursor)
        paths = sorted(repo.files)[start : start + self.world.page]
        link = {}
        if start + self.world.page < len(repo.files):
            at = f"{self.world.url}/api/models/{name}/tree/{revision}?recursive=true&cursor={start + self.world.page}"
            link = {"Link": f'<{at}>; rel="next"'}
        self._json([_entry(path, repo.content(path)) for path in paths], link)

    def _hf_file(self, name: str, revision: str, path: str, **_: str) -> None:
        if (repo := self._hf_repo(name, revision)) is None:
            return
        if path not in repo.files:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": repo.commit})
            return
        content = repo.content(path)
        about = {"X-Repo-Commit": repo.commit, "ETag": f'"{_blob(content)}"', "Accept-Ranges": "bytes"}
        if len(content) < LARGE_BYTES:
            self._file(content, about)
            return
        digest = hashlib.sha256(content).hexdigest()
        linked = {"X-Linked-Size": str(len(content)), "X-Linked-Etag": f'"{digest}"', "X-Repo-Commit": repo.commit}
        where = self.world.faults.redirect_to or self.world.url
        self._send(302, b"", {**linked, "Location": f"{where}/cdn/{name}/{quote(path)}"})

    # --- ModelScope

    def _ms_repo(self, name: str) -> Repo | None:
        repo = self.world.repos.get(name)
        allowed = repo is not None and repo.token in {
            None,
            self.headers.get("Authorization", "").removeprefix("Bearer "),
        }
        if repo is None or not allowed:
            self._json({"Code": 10010205001, "Success": False, "Message": "not found", "Data": None}, status=404)
            return None
        return repo

    def _ms_about(self, name: str, **_: str) -> None:
        if self._ms_repo(name) is not None:
            self._json(_ms({"Name": name.partition("/")[2], "Path": name.partition("/")[0], "Id": 1}))

    def _ms_revisions(self, name: str, **_: str) -> None:
        if self._ms_repo(name) is not None:
            branches = [{"Revision": "master", "CreatedAt": 1_700_000_000}]
            self._json(_ms({"RevisionMap": {"Branches": branches, "Tags": []}, "Total": 1}))

    def _ms_files(self, name: str, Revision: str = "master", **_: str) -> None:
        if (repo := self._ms_repo(name)) is None:
            return
        files = [_ms_entry(path, repo.content(path)) for path in sorted(repo.files)]
        last = {"Id": repo.commit if Revision != "dev" else "", "ShortId": repo.commit[:8]}
        self._json(_ms({"Files": files, "IsVisual": 0, "LatestCommitter": last}))

    def _ms_file(self, name: str, FilePath: str = "", **_: str) -> None:
        if (repo := self._ms_repo(name)) is None:
            return
        if FilePath not in repo.files:
            self._json({"Code": 10010204002, "Success": False, "Message": "no such file"}, status=404)
            return
        content = repo.content(FilePath)
        if len(content) >= LARGE_BYTES and self.world.faults.redirect_to:
            self._send(302, b"", {"Location": f"{self.world.faults.redirect_to}/cdn/{name}/{quote(FilePath)}"})
            return
        self._file(content, {"Accept-Ranges": "bytes", "X-Linked-Etag": hashlib.sha256(content).hexdigest()})

    # --- files

    def _cdn(self, name: str, path: str, **_: str) -> None:
        """Elsewhere: signed addresses know no token, and a file lies there under its digest.

        The commit is told again, because here "elsewhere" is the same host and huggingface_hub's HEAD goes on to it.
        """
        repo = self.world.repos.get(name)
        if repo is None or path not in repo.files:
            self._send(404, b"", {})
            return
        content = repo.content(path)
        about = {"X-Repo-Commit": repo.commit, "Accept-Ranges": "bytes"}
        self._file(content, {**about, "ETag": f'"{hashlib.sha256(content).hexdigest()}"'})

    def _file(self, content: bytes, headers: dict[str, str]) -> None:
        if self.world.faults.wrong_bytes:
            content = bytes(len(content))
        span = None if self.world.faults.no_ranges else _span(self.headers.get("Range"), len(content))
        if span is None:
            self._send(200, content, headers)
        elif span[0] >= len(content):
            self._send(416, b"", {**headers, "Content-Range": f"bytes */{len(content)}"})
        else:
            begin, end = span
            said = {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{len(content)}"}
            self._send(206, content[begin:end], said)

    def _json(self, document: Any, headers: Mapping[str, str] | None = None, status: int = 200) -> None:
        self._send(status, json.dumps(document).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "HEAD":
            return
        cut = self.world.faults.truncate_only in self.path and _spend(self.world.faults, "truncate")
        try:
            half = len(content) // 2
            self.wfile.write(content[:half])
            if self.world.faults.stall is not None and len(content) > self.world.faults.stall_above:
                self.world.faults.stall.wait(120)
            self.wfile.write(b"" if cut else content[half:])
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        if cut:
            self.close_connection = True


def _spend(faults: Faults, name: str) -> bool:
    left = getattr(faults, name)
    if left > 0:
        setattr(faults, name, left - 1)
    return bool(left)


def _bearer(headers: Any) -> str:
    return str(headers.get("Authorization", "")).removeprefix("Bearer ")


def _query(text: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(text).items()}


def _span(header: str | None, length: int) -> tuple[int, int] | None:
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", header or "")
    if match is None:
        return None
    return int(match[1]), min(int(match[2]) + 1 if match[2] else length, length)


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _entry(path: str, content: bytes) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "file", "oid": _blob(content), "size": len(content), "path": path}
    if len(content) >= LARGE_BYTES:
        made["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    return made


def _ms_entry(path: str, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    name = path.rpartition("/")[2]
    return {"Name": name, "Path": path, "Type": "blob", "Size": len(content), "Sha256": digest, "Revision": digest[:40]}


def _ms(data: Any) -> dict[str, Any]:
    return {"Code": 200, "Success": True, "Message": "", "Data": data}
