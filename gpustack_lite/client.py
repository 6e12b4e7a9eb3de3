"""The management API and /v1 as a program uses them: JSON in and out, refusals as `Refusal`, streams as iterators."""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

from gpustack_lite import __version__
from gpustack_lite.errors import Refusal, Unreachable
from gpustack_lite.httpx_alone import httpx
from gpustack_lite.messages import Language

Document = dict[str, Any]
TIMEOUT = httpx.Timeout(60.0, connect=5.0)
PAGE = 200
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


class Client:
    """Holds one connection pool; use it with `with`.

    Every method raises `Unreachable` when the server does not answer, and Refusal `server_said` (its `message` is the
    server's own sentence, in `language`) or `sign_in_needed` when it refuses.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        language: Language = "en",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        if not is_http(self.url):
            raise Refusal("server_url_invalid", url=url)
        headers = {"Accept-Language": language, "User-Agent": f"gpustack-lite/{__version__}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            self._http = httpx.Client(
                base_url=self.url,
                headers=headers,
                timeout=TIMEOUT,
                trust_env=not is_loopback(self.url),
                transport=transport,
            )
        except httpx.InvalidURL as error:
            raise Refusal("server_url_invalid", url=url) from error

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, *path: str | int, **params: object) -> Document:
        return self._call("GET", path, params=params)

    def post(self, *path: str | int, body: object = None) -> Document:
        return self._call("POST", path, body=body)

    def patch(self, *path: str | int, body: object) -> Document:
        return self._call("PATCH", path, body=body)

    def put(self, *path: str | int, body: object = None) -> Document:
        return self._call("PUT", path, body=body)

    def delete(self, *path: str | int, **params: object) -> Document:
        return self._call("DELETE", path, params=params)

    def listed(self, *path: str | int, limit: int | None = None, **params: object) -> Document:
        """A list's own document with the items of all its pages, or with its first `limit` items."""
        page = whole = self.get(*path, limit=min(PAGE, limit or PAGE), **params)
        while page.get("next_cursor") and (limit is None or len(whole["items"]) < limit):
            page = self.get(*path, limit=PAGE, cursor=page["next_cursor"], **params)
            whole["items"] += page["items"]
        return whole | {"items": whole["items"][:limit], "next_cursor": page.get("next_cursor")}

    def items(self, *path: str | int, limit: int | None = None, **params: object) -> list[Document]:
        found: list[Document] = self.listed(*path, limit=limit, **params)["items"]
        return found

    def text(self, *path: str | int, **params: object) -> Iterator[str]:
        """A body of plain text in the pieces in which it arrives, for as long as it takes."""
        with self._stream("GET", path, params=params) as answer:
            yield from answer.iter_text()

    def chat(self, body: Document) -> Iterator[Document]:
        """The chunks of one streamed chat completion."""
        with self._stream("POST", ("/v1", "chat", "completions"), body=body | {"stream": True}) as answer:
            for line in answer.iter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == "[DONE]":
                    return
                if data:
                    yield _checked(json.loads(data))

    def _call(
        self,
        method: str,
        path: tuple[str | int, ...],
        *,
        params: Mapping[str, object] | None = None,
        body: object = None,
    ) -> Document:
        with self._refusing():
            answer = self._http.request(method, join(*path), params=_query(params), json=body)
            if answer.is_error:
                raise self._refusal(answer)
            document = answer.json() if answer.content else {}
        return document if isinstance(document, dict) else {"items": document}

    @contextmanager
    def _stream(
        self,
        method: str,
        path: tuple[str | int, ...],
        *,
        params: Mapping[str, object] | None = None,
        body: object = None,
    ) -> Iterator[httpx.Response]:
        timeout = httpx.Timeout(None, connect=5.0)
        with (
            self._refusing(),
            self._http.stream(method, join(*path), params=_query(params), json=body, timeout=timeout) as answer,
        ):
            if answer.is_error:
                answer.read()
                raise self._refusal(answer)
            yield answer

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (httpx.TransportError, httpx.InvalidURL, OSError) as error:
            raise Unreachable(self.url, _reason(error)) from error
        except ValueError as error:
            raise Unreachable(self.url, "the answer is not JSON") from error

    def _refusal(self, answer: httpx.Response) -> Refusal:
        try:
            error = answer.json()["error"]
            message, code = str(error["message"]), str(error.get("code"))
        except (ValueError, KeyError, TypeError):
            message, code = f"HTTP {answer.status_code} {answer.reason_phrase}", ""
        if answer.status_code == 401 and not answer.request.url.path.endswith("/auth/login"):
            return Refusal("sign_in_needed", status=401, url=self.url, message=message)
        return Refusal("server_said", status=answer.status_code, message=message, said=code)


def join(*parts: str | int) -> str:
    """The first part as it is (a prefix such as "/v1"), the others quoted, whatever a name contains."""
    first, *rest = parts if str(parts[0]).startswith("/") else ("/api/v1", *parts)
    return "/".join([str(first), *(quote(str(part), safe="") for part in rest)])


def is_http(url: str) -> bool:
    """Whether a URL says how to speak and to whom; `localhost:9090` says neither."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine: then no proxy and no TLS is wanted."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _reason(error: Exception) -> str:
    """Without the system's number in front, which says nothing to a person."""
    return _ERRNO.sub("", str(error)) or type(error).__name__


def _query(params: Mapping[str, object] | None) -> dict[str, str]:
    given = {key: value for key, value in (params or {}).items() if value is not None}
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}


def _checked(chunk: Document) -> Document:
    """An engine that breaks in the middle of a stream says so in a chunk."""
    if isinstance(error := chunk.get("error"), dict):
        raise Refusal("server_said", status=502, message=str(error.get("message")), said=str(error.get("code")))
    return chunk
