"""GET from a hub, hop by hop: each is checked, connected to at the address that was checked, and bounded in time.

Blocks: for threads. The token goes to the endpoint's own origin only, on no redirect to another one, and into no log.
"""

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urljoin
from urllib.request import getproxies_environment, proxy_bypass

from gpustack_lite import __version__
from gpustack_lite.errors import Refusal
from gpustack_lite.httpx_alone import httpx
from gpustack_lite.hub.confinement import Origin, check_hop, is_of_hub, origin_of, reachable, refused
from gpustack_lite.hub.hubs import Endpoint, Hubs
from gpustack_lite.ports import Ports

MOST_HOPS = 6
CHUNK_BYTES = 256 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_IDLE_SECONDS = 30.0


class Deadline:
    """A moment after which nothing is waited for; each wait gets what is left."""

    def __init__(self, ports: Ports, seconds: float) -> None:
        self._clock = ports.clock
        self._seconds = seconds
        self._ends_at = ports.clock.monotonic() + seconds

    def left(self, host: str) -> float:
        """Raises:
        Refusal: `hub_slow`.
        """
        left = self._ends_at - self._clock.monotonic()
        if left <= 0:
            raise Refusal("hub_slow", status=504, param="source", host=host, seconds=round(self._seconds))
        return left


@dataclass(frozen=True, slots=True)
class Answer:
    """The last hop's; `content` yields it in chunks, which is when `hub_cut_short` may come."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    host: str
    content: Iterator[bytes]


class Fetcher:
    def __init__(self, hubs: Hubs, ports: Ports) -> None:
        self._hubs = hubs
        self._ports = ports
        self._trusted = hubs.trusted
        self._clients: dict[tuple[Origin, str | None], httpx.Client] = {}
        self._making = threading.Lock()
        self._context: ssl.SSLContext | None = None

    @contextmanager
    def get(
        self,
        url: str,
        *,
        endpoint: Endpoint | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: Deadline | None = None,
    ) -> Iterator[Answer]:
        """The answer that no redirect follows, whatever its status. Without a deadline each wait has 30 seconds.

        Raises:
            Refusal: `hub_offline`, `hub_address_*`, `hub_unreachable`, `hub_slow`, `hub_redirects`.
        """
        for _ in range(MOST_HOPS):
            origin = self._checked(url)
            sent = {**(headers or {}), **_credentials(origin, endpoint)}
            with self._sent(url, origin, sent, deadline) as response:
                target = response.headers.get("location") if response.status_code in _REDIRECTS else None
                if target is None:
                    yield _answer(response, origin, deadline)
                    return
            url = urljoin(url, target)
        raise Refusal("hub_redirects", status=502, param="source", host=origin.host)

    def close(self) -> None:
        with self._making:
            clients = list(self._clients.values())
            self._clients.clear()
        for each in clients:
            each.close()

    def _checked(self, url: str) -> Origin:
        if self._hubs.offline:
            raise Refusal("hub_offline", status=503, param="source", host=origin_of(url).host)
        return check_hop(url, self._trusted)

    @contextmanager
    def _sent(
        self, url: str, origin: Origin, headers: Mapping[str, str], deadline: Deadline | None
    ) -> Iterator[httpx.Response]:
        proxy = _proxy_for(origin)
        if proxy is not None:
            self._check_behind_proxy(url, origin)
        address = None if proxy else self._address(url, origin)
        pinned = httpx.URL(url) if address is None else httpx.URL(url).copy_with(host=address)
        client = self._client(origin, proxy)
        request = client.build_request(
            "GET",
            pinned,
            headers={**headers, "Host": _host_header(origin)},
            extensions={} if address is None else {"sni_hostname": origin.host},
            timeout=_IDLE_SECONDS if deadline is None else deadline.left(origin.host),
        )
        with _said(origin, deadline):
            response = client.send(request, stream=True)
        try:
            yield response
        finally:
            response.close()

    def _address(self, url: str, origin: Origin) -> str:
        """Resolved anew for each request, and connected to as it was checked: a name that moves gains nothing."""
        try:
            found = self._ports.network.addresses(origin.host, origin.port)
        except OSError as error:
            raise _unreachable(origin, error) from error
        return reachable(url, origin, self._trusted, found)

    def _check_behind_proxy(self, url: str, origin: Origin) -> None:
        """A proxy resolves names itself, so the name is held against what it is here, before the proxy hears of it.

        If it is another one there, whoever answers must still hold a certificate for the name: what nobody trusted by
        name is asked by HTTPS alone. Spared is what an administrator named, and what belongs to the hubs themselves.
        """
        if self._hubs.proxy_trusted or origin in self._trusted or is_of_hub(origin.host):
            return
        try:
            found = self._ports.network.addresses(origin.host, origin.port)
        except OSError as error:
            raise refused(url, "unchecked") from error
        reachable(url, origin, self._trusted, found)

    def _client(self, origin: Origin, proxy: str | None) -> httpx.Client:
        """One for each origin: a connection that was made for one name is never used for another."""
        with self._making:
            if (origin, proxy) not in self._clients:
                made = httpx.Client(
                    proxy=proxy,
                    verify=self._tls(origin, proxy),
                    trust_env=False,
                    headers={"User-Agent": f"gpustack-lite/{__version__}", "Accept-Encoding": "identity"},
                )
                self._clients[origin, proxy] = made
            return self._clients[origin, proxy]

    def _tls(self, origin: Origin, proxy: str | None) -> ssl.SSLContext:
        """Plain HTTP is spared the loading of certificates, and gets a context that trusts nobody."""
        if origin.scheme == "http" and proxy is None:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self._context is None:
            self._context = _tls(self._hubs.ca_file)
        return self._context


def _answer(response: httpx.Response, origin: Origin, deadline: Deadline | None) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, origin.host, _chunks(response, origin, deadline))


def _chunks(response: httpx.Response, origin: Origin, deadline: Deadline | None) -> Iterator[bytes]:
    with _said(origin, deadline):
        for chunk in response.iter_raw(CHUNK_BYTES):
            if deadline is not None:
                deadline.left(origin.host)
            yield chunk


@contextmanager
def _said(origin: Origin, deadline: Deadline | None) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        if deadline is not None:
            deadline.left(origin.host)
        raise Refusal("hub_slow", status=504, param="source", host=origin.host, seconds=round(_IDLE_SECONDS)) from error
    except httpx.RemoteProtocolError as error:
        raise Refusal("hub_cut_short", status=502, param="source", host=origin.host) from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise _unreachable(origin, error) from error


def _unreachable(origin: Origin, error: Exception) -> Refusal:
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return Refusal("hub_unreachable", status=502, param="source", host=origin.host, why=why)


def _credentials(origin: Origin, endpoint: Endpoint | None) -> dict[str, str]:
    if endpoint is None or origin != origin_of(endpoint.url):
        return {}
    token = endpoint.bearer()
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _proxy_for(origin: Origin) -> str | None:
    if proxy_bypass(origin.host):
        return None
    proxies = getproxies_environment()
    return proxies.get(origin.scheme) or proxies.get("all")


def _host_header(origin: Origin) -> str:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if origin.port in {80, 443} else f"{host}:{origin.port}"


def _tls(ca_file: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context() if ca_file is None else ssl.create_default_context(cafile=ca_file)
