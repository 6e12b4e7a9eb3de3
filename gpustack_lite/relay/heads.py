"""Message heads made anew from parsed fields: what belongs to one hop stays there, and framing is said once."""

from collections.abc import Collection, Iterable, Sequence

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
ONE_HOP = HOP_BY_HOP | {b"content-length", b"expect"}
"""With what frames the body, which is said anew."""
_BODILESS = frozenset({b"GET", b"HEAD", b"DELETE", b"OPTIONS"})


class UnsafeHead(ValueError):
    """A field holds a line end or a zero: sending it would write a second head."""


def end_to_end(fields: Sequence[Field], *, drop: Collection[bytes] = frozenset()) -> list[Field]:
    """Fields that may travel on: neither of one hop, nor named by Connection, nor in `drop`. Names are lower case."""
    named = named_by_connection(fields)
    if named:
        return [each for each in fields if each[0] not in ONE_HOP and each[0] not in drop and each[0] not in named]
    return [each for each in fields if each[0] not in ONE_HOP and each[0] not in drop]


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
    elif length or method not in _BODILESS:
        lines.append(b"content-length: %d" % length)
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(lines) - 1 or head.count(b"\r") != len(lines) - 1 or b"\0" in head:
        raise UnsafeHead
    return head + b"\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"
