"""The heads of what is sent on: to an engine with the platform's key, to the server with the client's address."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from gpustack_lite.gateway.proxies import Seen
from gpustack_lite.relay import target
from gpustack_lite.relay.heads import Field, end_to_end, serialise
from gpustack_lite.wire import ADDRESS_HEADER, SCHEME_HEADER, Endpoint

_ADDRESS = ADDRESS_HEADER.encode()
_SCHEME = SCHEME_HEADER.encode()
_SAID_BY_PROXIES = frozenset(
    {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-port", b"x-forwarded-proto", b"x-real-ip"}
)
_NOT_FOR_ENGINES = _SAID_BY_PROXIES | {
    _ADDRESS,
    _SCHEME,
    b"accept-encoding",  # a packed stream could not be counted
    b"api-key",
    b"authorization",
    b"cookie",
    b"host",
    b"origin",
    b"referer",
    b"x-api-key",
    b"x-csrf-token",
    b"x-request-id",
}
_NOT_FOR_SERVER = _SAID_BY_PROXIES | {_ADDRESS, _SCHEME, b"x-request-id"}
_FROM_ENGINES = frozenset(
    {b"content-type", b"content-encoding", b"content-disposition", b"cache-control", b"retry-after"}
)
_NOT_FROM_SERVER = frozenset({b"date", b"server", b"x-request-id"})
_NOSNIFF = (b"x-content-type-options", b"nosniff")


_ID = b"x-request-id"
_MOST_KNOWN = 64


class Known(Protocol):
    """A parsed head, with the heads for engines that were made of it."""

    @property
    def fields(self) -> Sequence[Field]: ...
    @property
    def target(self) -> bytes:
        """Canonical path and query."""

    for_engines: dict[tuple[str, str, bytes], tuple[bytes, bytes]]


class Asker(Protocol):
    """The parts of a Call that the server is told."""

    @property
    def fields(self) -> Sequence[Field]: ...
    @property
    def shown_id(self) -> bytes: ...
    @property
    def target(self) -> bytes: ...


def to_engine(head: Known, shown_id: bytes, endpoint: Endpoint, length: int, *, path: str | None = None) -> bytes:
    """No credential of the client travels on; the engine's own key does. `path` where it is another than was asked."""
    known, where = head.for_engines, head.target if path is None else path.encode()
    key = endpoint.address, endpoint.engine_key, where
    parts = known.get(key)
    if parts is None:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        parts = known[key] = _around_the_id(head.fields, endpoint, where)
    return b"%s%s%s%d\r\n\r\n" % (parts[0], shown_id, parts[1], length)


def _around_the_id(given: Sequence[Field], endpoint: Endpoint, where: bytes) -> tuple[bytes, bytes]:
    """The head without the request's id, which stands between the two, and without the body's length at its end."""
    fields: list[Field] = [
        (b"host", target.parse(endpoint.address).host_field),
        (b"authorization", b"Bearer " + endpoint.engine_key.encode()),
        (_ID, b""),
    ]
    head = serialise(b"POST", where, fields + end_to_end(given, drop=_NOT_FOR_ENGINES), length=0)
    before, mark, after = head.partition(b"\r\n" + _ID + b": ")
    return before + mark, after.removesuffix(b"0\r\n\r\n")


def to_server(call: Asker, seen: Seen, method: bytes, length: int | None) -> bytes:
    scheme = b"https" if seen.is_https else b"http"
    fields = [(_ADDRESS, seen.address.encode()), (_SCHEME, scheme), (b"x-request-id", call.shown_id)]
    return serialise(method, call.target, fields + end_to_end(call.fields, drop=_NOT_FOR_SERVER), length=length)


def to_client(fields: Iterable[Field]) -> list[Field]:
    """Of an engine's answer: what describes the content, each once. Cookies and CORS are not an engine's to set."""
    kept = {name: value for name, value in fields if name in _FROM_ENGINES}
    return [_NOSNIFF, *kept.items()]


def is_packed(fields: Iterable[Field]) -> bool:
    """Whether an engine packed its answer although nobody asked it to: it goes on as it is, and is not counted."""
    return any(name == b"content-encoding" and value.strip().lower() != b"identity" for name, value in fields)


def kept_of_error(fields: Iterable[Field]) -> list[Field]:
    return [field for field in fields if field[0] == b"retry-after"]


def of_server(fields: Sequence[Field]) -> list[Field]:
    return end_to_end(fields, drop=_NOT_FROM_SERVER)


def length_of(fields: Iterable[Field]) -> int | None:
    given = next((value for name, value in fields if name == b"content-length"), b"")
    return int(given) if given.isdigit() else None
