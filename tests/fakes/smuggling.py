"""Requests that two programs could cut apart differently, made by rule: what a gateway must refuse or read in one way.

The classes are those of the public collections of request smuggling (a byte beside or inside the name or value of
Transfer-Encoding and Content-Length, doubled and conflicting framing, malformed chunks, malformed request lines);
the vectors are generated here. Each carries a number in its body, so that whoever sees a part of it can be told.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

PATH = "/v1/chat/completions"
CANARY = "/v1/load_lora_adapter"
"""A path that no engine may ever be asked for: it stands in the request that hides inside the other."""
HIDDEN = b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" % CANARY.encode()
ODD_BYTES = (*range(0x21), *range(0x7F, 0x100))
_CODING = b"Transfer-Encoding: chunked"


@dataclass(frozen=True, slots=True)
class Vector:
    name: str
    number: int
    raw: bytes

    @property
    def body(self) -> bytes:
        return body_of(self.number)


def body_of(number: int) -> bytes:
    document = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "user": f"vector-{number}"}
    return json.dumps(document).encode()


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


class Writer:
    """Puts the credential and the framing together; every vector is a whole request with another one behind it."""

    def __init__(self, key: str) -> None:
        self._common = [b"Host: a", b"Authorization: Bearer " + key.encode(), b"Content-Type: application/json"]
        self._number = 0

    def corpus(self) -> list[Vector]:
        made: list[Vector] = []
        for name, fields, framed, line, eol in _recipes():
            self._number += 1
            made.append(Vector(name, self._number, self._raw(fields, framed, line, eol)))
        return made

    def _raw(self, fields: list[bytes], framed: str, line: bytes, eol: bytes) -> bytes:
        body = body_of(self._number)
        sent = _framed(framed, body)
        lengths = {b"{all}": b"%d" % (len(sent) + len(HIDDEN)), b"{body}": b"%d" % len(sent), b"{part}": b"4"}
        filled = [_filled(field, lengths) for field in (*self._common, *fields)]
        return eol.join([line, *filled, b"", b""]) + sent + HIDDEN


def _filled(field: bytes, lengths: dict[bytes, bytes]) -> bytes:
    for mark, value in lengths.items():
        field = field.replace(mark, value)
    return field


def _framed(framed: str, body: bytes) -> bytes:
    return {"plain": body, "chunked": chunked(body)}.get(framed) or _MALFORMED[framed](body)


Recipe = tuple[str, list[bytes], str, bytes, bytes]
_LINE = b"POST %s HTTP/1.1" % PATH.encode()
_EOL = b"\r\n"


def _recipes() -> Iterator[Recipe]:
    yield from _coding_gadgets()
    yield from _length_gadgets()
    yield from _field_gadgets()
    yield from _conflicts()
    yield from _chunks()
    yield from _lines()


def _gadgets(name: bytes, value: bytes) -> Iterator[tuple[str, bytes]]:
    """One odd byte in every place where a lenient reader may pass over it."""
    for odd in ODD_BYTES:
        byte = bytes([odd])
        yield f"{odd:02x} before the name", byte + name + b": " + value
        yield f"{odd:02x} behind the name", name + byte + b": " + value
        yield f"{odd:02x} before the value", name + b":" + byte + value
        yield f"{odd:02x} behind the value", name + b": " + value + byte
        yield f"{odd:02x} in another value", b"X: x" + byte + name + b": " + value


def _coding_gadgets() -> Iterator[Recipe]:
    for where, field in _gadgets(b"Transfer-Encoding", b"chunked"):
        yield f"CL.TE, {where}", [b"Content-Length: {all}", field], "chunked", _LINE, _EOL
        yield f"TE.CL, {where}", [field, b"Content-Length: {part}"], "chunked", _LINE, _EOL


def _length_gadgets() -> Iterator[Recipe]:
    for where, field in _gadgets(b"Content-Length", b"{body}"):
        yield f"CL, {where}", [field], "plain", _LINE, _EOL


def _field_gadgets() -> Iterator[Recipe]:
    for odd in ODD_BYTES:
        byte = bytes([odd])
        fields = [b"Content-Length: {body}", b"X" + byte + b"Y: z"]
        yield f"{odd:02x} in a name", fields, "plain", _LINE, _EOL
        yield f"{odd:02x} in a value", [b"Content-Length: {body}", b"X: y" + byte + b"z"], "plain", _LINE, _EOL


def _conflicts() -> Iterator[Recipe]:
    length, coding = b"Content-Length: {all}", _CODING
    sets: dict[str, list[bytes]] = {
        "CL and TE": [length, coding],
        "TE and CL": [coding, length],
        "two lengths that differ": [b"Content-Length: {body}", b"Content-Length: {all}"],
        "two lengths alike": [b"Content-Length: {body}", b"Content-Length: {body}"],
        "a list of lengths": [b"Content-Length: {body}, {all}"],
        "TE twice": [coding, coding],
        "TE, then identity": [coding, b"Transfer-Encoding: identity"],
        "identity, then TE": [b"Transfer-Encoding: identity", coding],
        "Transfer_Encoding": [b"Transfer_Encoding: chunked", b"Content-Length: {body}"],
        "folded": [b"Transfer-Encoding:\r\n chunked"],
        "folded behind another": [b"X: a\r\n Transfer-Encoding: chunked", b"Content-Length: {all}"],
        "bare CR": [b"X: a\rTransfer-Encoding: chunked", length],
        "bare LF": [b"X: a\nTransfer-Encoding: chunked", length],
        "named in Connection": [b"Connection: content-length", b"Content-Length: {body}"],
        "named in Connection, TE": [b"Connection: transfer-encoding", coding],
        "an upgrade with a body": [b"Connection: upgrade", b"Upgrade: h2c", b"Content-Length: {body}"],
        "Expect": [b"Expect: 100-continue", b"Content-Length: {body}"],
        "Expect something else": [b"Expect: x", b"Content-Length: {body}"],
        "two Hosts": [b"Host: b", b"Content-Length: {body}"],
        "no framing": [],
    }
    values = ("+{body}", "-{body}", "0x{body}", "{body} ", " {body}", "0{body}", "{body};", "{body}_0", "{body}.0")
    for value in (*values, "1e3", "18446744073709551620", "", "{body} {body}", "\u00b2"):
        sets[f"length {value!r}"] = [f"Content-Length:{value}".encode("latin-1")]
    for value in ("xchunked", "chunked, identity", "identity", "chunked, chunked", "gzip, chunked", "Chunked", "chunk"):
        sets[f"coding {value!r}"] = [f"Transfer-Encoding: {value}".encode()]
    for value in ("chunked;a=b", '"chunked"', "chunked,", ",chunked", "chunked, ", "chunked\t", "\tchunked", ""):
        sets[f"coding {value!r}"] = [f"Transfer-Encoding: {value}".encode()]
    for name, fields in sets.items():
        for framed in ("plain", "chunked"):
            yield f"{name}, {framed} body", fields, framed, _LINE, _EOL
            yield f"{name}, {framed} body, HTTP/1.0", fields, framed, _LINE.replace(b"1.1", b"1.0"), _EOL


_MALFORMED = {
    "LF for CRLF": lambda body: b"%x\n%s\n0\n\n" % (len(body), body),
    "no end of data": lambda body: b"%x\r\n%sXX0\r\n\r\n" % (len(body), body),
    "an extension": lambda body: b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "an extension with LF": lambda body: b"%x;a\nxx\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "a large extension": lambda body: b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(body), b"a" * 70_000, body),
    "0x": lambda body: b"0x%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "a space behind": lambda body: b"%x \r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "a space before": lambda body: b" %x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "a tab behind": lambda body: b"%x\t\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "a sign": lambda body: b"+%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "an overflow": lambda body: b"1%016x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "no size": lambda body: b"\r\n%s\r\n0\r\n\r\n" % body,
    "an underscore": lambda body: b"0_%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "a last LF": lambda body: b"%x\r\n%s\r\n0\n\r\n" % (len(body), body),
    "a length as trailer": lambda body: b"%x\r\n%s\r\n0\r\nContent-Length: 9\r\n\r\n" % (len(body), body),
    "a coding as trailer": lambda body: b"%x\r\n%s\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n" % (len(body), body),
    "a credential as trailer": lambda body: b"%x\r\n%s\r\n0\r\nAuthorization: Bearer x\r\n\r\n" % (len(body), body),
    "many zeros": lambda body: b"%040x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "two sizes": lambda body: b"%x %x\r\n%s\r\n0\r\n\r\n" % (len(body), len(body), body),
    "a CR in the size": lambda body: b"%x\r\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "a NUL in the size": lambda body: b"%x\0\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    "zeros for the end": lambda body: b"%x\r\n%s\r\n000\r\n\r\n" % (len(body), body),
    "an end with a space": lambda body: b"%x\r\n%s\r\n0 \r\n\r\n" % (len(body), body),
    "an end without a line": lambda body: b"%x\r\n%s\r\n0\r\n" % (len(body), body),
}


def _chunks() -> Iterator[Recipe]:
    for name in _MALFORMED:
        yield f"chunks: {name}", [_CODING], name, _LINE, _EOL


def _lines() -> Iterator[Recipe]:
    path = PATH.encode()
    lines: dict[str, bytes] = {
        "HTTP/1.9": b"POST %s HTTP/1.9" % path,
        "HTTP/9.9": b"POST %s HTTP/9.9" % path,
        "http/1.1": b"POST %s http/1.1" % path,
        "HTTP/1": b"POST %s HTTP/1" % path,
        "HTTP/11": b"POST %s HTTP/11" % path,
        "no version": b"POST %s" % path,
        "two spaces": b"POST  %s HTTP/1.1" % path,
        "a tab": b"POST\t%s\tHTTP/1.1" % path,
        "a space at the end": b"POST %s HTTP/1.1 " % path,
        "an absolute target": b"POST http://evil%s HTTP/1.1" % path,
        "an authority": b"POST evil:80 HTTP/1.1",
        "no slash": b"POST a HTTP/1.1",
        "a fragment": b"POST %s#x HTTP/1.1" % path,
        "a dot segment": b"POST /v1/x/../chat/completions HTTP/1.1",
        "a doubled slash": b"POST //v1/chat/completions HTTP/1.1",
        "an encoded slash": b"POST /v1%2fchat/completions HTTP/1.1",
        "an encoded dot": b"POST /v1/%2e%2e/v1/chat/completions HTTP/1.1",
        "a backslash": b"POST /v1\\chat/completions HTTP/1.1",
        "a semicolon": b"POST %s;/../../v1/load_lora_adapter HTTP/1.1" % path,
        "the canary itself": b"POST %s HTTP/1.1" % CANARY.encode(),
        "the canary behind dots": b"POST %s/../../load_lora_adapter HTTP/1.1" % path,
        "a line before": b"\r\nPOST %s HTTP/1.1" % path,
        "a space before": b" POST %s HTTP/1.1" % path,
        "a lower method": b"post %s HTTP/1.1" % path,
        "an odd method": b"PO ST %s HTTP/1.1" % path,
    }
    for name, line in lines.items():
        yield f"line: {name}", [b"Content-Length: {body}"], "plain", line, _EOL
        yield f"line: {name}, chunked", [_CODING], "chunked", line, _EOL
    for odd in ODD_BYTES:
        yield (
            f"line: {odd:02x} in the target",
            [b"Content-Length: {body}"],
            "plain",
            (b"POST /v1/chat" + bytes([odd]) + b"/completions HTTP/1.1"),
            _EOL,
        )
    yield "line ends of LF", [b"Content-Length: {body}"], "plain", _LINE, b"\n"
    yield "line ends of LF, chunked", [_CODING], "chunked", _LINE, b"\n"
    yield "line ends of CR", [b"Content-Length: {body}"], "plain", _LINE, b"\r"
