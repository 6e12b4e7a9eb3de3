"""The way to the server: a Unix socket here, a loopback URL elsewhere; joins, and joins again when forgotten."""

import asyncio
import ipaddress
import logging
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError

import gpustack_lite
from gpustack_lite import messages
from gpustack_lite.errors import Refusal, Unreachable
from gpustack_lite.httpx_alone import httpx
from gpustack_lite.ports import Ports, short_unix_path
from gpustack_lite.wire import Join, Joined, Wire
from worker.identity import WorkerIdentity

log = logging.getLogger(__name__)
W = TypeVar("W", bound=Wire)
PREFIX = "/api/agent/v1"
FIRST_RETRY_SECONDS = 0.2
LAST_RETRY_SECONDS = 5.0
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """`socket` is set where the server is on this machine; `url` is then only the name in requests."""

    url: str
    socket: Path | None = None

    @property
    def shown(self) -> str:
        return self.url if self.socket is None else str(self.socket)

    def client(self) -> httpx.AsyncClient:
        """Proxies of the environment are for downloads: they never catch what we say to the server."""
        transport = httpx.AsyncHTTPTransport(uds=self._uds(), retries=0, trust_env=False)
        return httpx.AsyncClient(base_url=self.url, transport=transport, trust_env=False, timeout=_timeout())

    def blocking_client(self) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=self._uds(), retries=0, trust_env=False)
        return httpx.Client(base_url=self.url, transport=transport, trust_env=False, timeout=_timeout())

    def _uds(self) -> str | None:
        return None if self.socket is None else short_unix_path(self.socket)


def _timeout(answer_seconds: float = ANSWER_SECONDS) -> httpx.Timeout:
    return httpx.Timeout(answer_seconds, connect=CONNECT_SECONDS)


def server_address(server_socket: Path | None, server_url: str | None) -> ServerAddress:
    """Raises:
    Refusal: `bad_server_url`, or `server_needs_tls` for plain http to another machine.
    """
    if server_socket is not None:
        return ServerAddress("http://server", server_socket)
    parts = urlsplit(server_url or "")
    if parts.scheme != "http" or not parts.hostname:
        raise Refusal("bad_server_url", url=(server_url or "")[:200])
    if not _is_loopback(parts.hostname):
        raise Refusal("server_needs_tls", host=parts.hostname)
    return ServerAddress(f"http://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a worker says of itself when it joins."""

    name: str
    labels: Mapping[str, str]
    token: str | None


def retry_after(seconds: float | None) -> float:
    return FIRST_RETRY_SECONDS if seconds is None else min(seconds * 2, LAST_RETRY_SECONDS)


class Link:
    """Every call carries the credential; a 401 makes it join again, once for all who saw the 401."""

    def __init__(
        self,
        address: ServerAddress,
        identity: WorkerIdentity,
        introduction: Introduction,
        ports: Ports,
        *,
        on_joined: Callable[[WorkerIdentity, bool], None],
    ) -> None:
        self.address = address
        self.identity = identity
        self._introduction = introduction
        self._ports = ports
        self._on_joined = on_joined
        self._client = address.client()
        self._joining = asyncio.Lock()

    async def begin(self) -> None:
        """Join, trying again while the server is away. Where a credential is at hand, a refused token is no harm.

        Raises:
            Refusal: the server does not take the token, or there is neither token nor credential.
        """
        seconds: float | None = None
        while True:
            try:
                await self._begin_once()
            except Unreachable as away:
                seconds = retry_after(seconds)
                log.warning("server_away", extra={"server": self.address.shown, "why": away.params["why"]})
                await self._ports.clock.sleep(seconds)
            else:
                return

    async def _begin_once(self) -> None:
        if self._introduction.token is None:
            if self.identity.credential is None:
                raise Refusal("join_token_missing", status=401, server=self.address.shown)
            self._on_joined(self.identity, False)
            return
        try:
            await self._join(was_forgotten=False)
        except Refusal as refusal:
            if isinstance(refusal, Unreachable) or self.identity.credential is None:
                raise
            log.warning("join_refused_credential_kept", extra={"code": refusal.code})
            self._on_joined(self.identity, False)

    async def get(self, path: str, answer_seconds: float, **params: int | str) -> httpx.Response:
        return await self._call("GET", path, _timeout(answer_seconds), params=params)

    async def post(self, path: str, body: Wire) -> httpx.Response:
        return await self._call("POST", path, _timeout(), content=body.model_dump_json(), headers=_JSON)

    async def _call(self, method: str, path: str, timeout: httpx.Timeout, **more: Any) -> httpx.Response:
        """Raises:
        Unreachable: no answer, or one that asks to come again (5xx, or 401 after which we joined again).
        Refusal: the server's answer was no.
        """
        used = self.identity.credential
        headers = {**more.pop("headers", {}), "authorization": f"Bearer {used}"}
        answer = await self._send(method, path, timeout=timeout, headers=headers, **more)
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            await self._join_again(used)
            raise Unreachable(self.address.shown, "it did not know us; we joined again")
        return _checked(answer, self.address.shown)

    async def _join_again(self, used: str | None) -> None:
        async with self._joining:
            if self.identity.credential == used:
                log.warning("credential_unknown", extra={"server": self.address.shown})
                await self._join(was_forgotten=True)

    async def _join(self, *, was_forgotten: bool) -> None:
        if self._introduction.token is None:
            raise Refusal("worker_forgotten", status=401, server=self.address.shown)
        join = Join(
            token=self._introduction.token,
            uid=self.identity.uid,
            name=self._introduction.name,
            labels=dict(self._introduction.labels),
            version=gpustack_lite.__version__,
            hostname=platform.node(),
        )
        answer = await self._send("POST", "/join", content=join.model_dump_json(), headers=_JSON, timeout=_timeout())
        joined = parsed(Joined, _checked(answer, self.address.shown), self.address.shown)
        is_new = was_forgotten or joined.worker_id != self.identity.worker_id
        self.identity = self.identity.after(joined)
        log.info("joined", extra={"worker": joined.name, "worker_id": joined.worker_id})
        self._on_joined(self.identity, is_new)

    async def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            return await self._client.request(method, PREFIX + path, **more)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(self.address.shown, str(error) or type(error).__name__) from error

    async def close(self) -> None:
        await self._client.aclose()


_JSON = {"content-type": "application/json"}


def parsed(kind: type[W], answer: httpx.Response, where: str) -> W:
    try:
        return kind.model_validate_json(answer.content)
    except ValidationError as error:
        raise Unreachable(where, f"its answer is no {kind.__name__}") from error


def _checked(answer: httpx.Response, where: str) -> httpx.Response:
    if answer.is_success:
        return answer
    if answer.status_code >= 500:
        raise Unreachable(where, f"status {answer.status_code}")
    raise refusal_of(answer, where)


def refusal_of(answer: httpx.Response, where: str) -> Refusal:
    """The server's own sentence where we know it."""
    try:
        error = answer.json()["error"]
        code, params = error.get("code"), error.get("params") or {}
    except (ValueError, KeyError, TypeError, AttributeError):
        code, params = None, {}
    if code in messages.CATALOGUE and isinstance(params, dict):
        refusal = Refusal(code, status=answer.status_code)
        refusal.params = params
        return refusal
    return Refusal("server_refused", status=answer.status_code, server=where, answer_status=answer.status_code)
