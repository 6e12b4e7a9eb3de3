"""Message heads made anew from parsed fields: what belongs to one hop stays there, and framing is said once."""

from collections.abc import Collection, Iterable

Field = tuple[bytes, bytes]

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""RFC 9110 section 7.6.1, with what older programs send."""
FRAMING = frozenset({b"content-length", b"expect"})


class UnsafeHead(ValueError):
    """A field holds a line end or a zero: sending it would write a second head."""


def end_to_end(fields: Iterable[Field], *, drop: Collection[bytes] = ()) -> list[Field]:
    """Fields that may travel on: neither hop-by-hop, nor named by Connection, nor framing, nor in `drop`."""
    given = [(name.lower(), value) for name, value in fields]
    named = named_by_connection(given)
    refused = HOP_BY_HOP | FRAMING | named | frozenset(drop)
    return [field for field in given if field[0] not in refused]


def named_by_connection(fields: Iterable[Field]) -> frozenset[bytes]:
    values = b",".join(value for name, value in fields if name == b"connection")
    return frozenset(token.strip().lower() for token in values.split(b",")) if values else frozenset()


def serialise(method: bytes, path: bytes, fields: Iterable[Field], *, length: int | None) -> bytes:
    """A request head. `length` is the body's, None for a chunked body; a body of 0 bytes is said only by POST and kin.

    Raises:
        UnsafeHead: a part would break the framing.
    """
    lines = [b"%s %s HTTP/1.1" % (method, path)]
    lines += [b"%s: %s" % field for field in fields]
    if length is None:
        lines.append(b"transfer-encoding: chunked")
    elif length or method not in {b"GET", b"HEAD", b"DELETE", b"OPTIONS"}:
        lines.append(b"content-length: %d" % length)
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(lines) - 1 or head.count(b"\r") != len(lines) - 1 or b"\0" in head:
        raise UnsafeHead
    return head + b"\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"
