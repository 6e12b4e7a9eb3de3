"""Requests and engines' answers for the two lanes: structured first, then spoilt byte by byte."""

import itertools
import json
from typing import Any

from hypothesis import strategies as st

from tests.fakes.lanes import KEY, NARROW_KEY, Case, Reply

TARGETS = (
    *[b"/v1/chat/completions"] * 6,
    b"/v1/completions",
    b"/v1/embeddings",
    b"/v1/messages",
    b"/v1-openai/chat/completions",
    b"/v1/chat/completions?a=b%20c",
    b"/v1/%63hat/completions",
    b"/v1//chat/completions",
    b"/v1/../v1/chat/completions",
    b"/v1/models",
    b"/v1/nowhere",
    b"/healthz",
    b"/api/v1/models",
)
FIELDS = (
    b"Connection: close",
    b"connection: keep-alive",
    b"Connection: x-secret, close",
    b"X-Secret: 1",
    b"Accept-Language: zh-CN",
    b"X-Request-ID: mine-1",
    b"X-Request-ID: not sane",
    b"Cookie: a=b",
    b"Accept-Encoding: gzip",
    b"traceparent: 00-1-2-01",
    b"Expect: 100-continue",
    b"Upgrade: h2c",
    b"Host: other",
    b"X-Empty:",
    b"X-Obs: \xff\x80",
    b"Content-Type: application/json",
    b"OpenAI-Organization: o",
    b"Transfer-Encoding: gzip",
    b"Content-Length: 3",
    b"Authorization: Bearer second",
)
CARRIERS = (
    *[f"Authorization: Bearer {KEY}".encode()] * 6,
    f"authorization:  bearer {KEY} ".encode(),
    f"X-API-Key: {KEY}".encode(),
    f"Authorization: Bearer {NARROW_KEY}".encode(),
    b"Authorization: Bearer wrong",
    b"Authorization: Basic eA==",
    b"X-None: 1",
)
BROKEN_BODIES = (
    b"",
    b"  ",
    b"[]",
    b"{",
    b'{"model":"tiny","model":"idle"}',
    b'{"model":"\xff"}',
    b'{"model":7}',
    b"null",
)
PLAIN_FIELDS = st.sampled_from([field for field in FIELDS[:10] if not field.endswith(b"close")])
SPELLINGS = (bytes.upper, bytes.lower, bytes.title, bytes)


@st.composite
def bodies(draw: Any) -> bytes:
    if draw(st.sampled_from([False] * 7 + [True])):
        return draw(st.sampled_from(BROKEN_BODIES))
    return draw(good_bodies(st.sampled_from(["tiny"] * 8 + ["idle", "other", "gone", ""])))


@st.composite
def good_bodies(draw: Any, models: Any) -> bytes:
    asked: dict[str, Any] = {"model": draw(models)}
    asked["messages"] = [
        {"role": "user", "content": draw(st.sampled_from(["hi", "\u00e9\u4e2d", "x" * 300, "x" * 70_000]))}
    ]
    if draw(st.booleans()):
        asked["stream"] = draw(st.sampled_from([True, True, True, False, None, 1]))
    if draw(st.integers(0, 3)) == 0:
        asked["stream_options"] = draw(st.sampled_from([{"include_usage": True}, {}, None, {"include_usage": False}]))
    return json.dumps(asked, ensure_ascii=draw(st.booleans())).encode()


def _chunked(body: bytes, at: int) -> bytes:
    """In two chunks at most, and all but the end of the trailer."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:at], body[at:]) if part) + b"0\r\n"


@st.composite
def requests(draw: Any) -> bytes:
    body = draw(bodies())
    method = draw(st.sampled_from([b"POST"] * 9 + [b"GET", b"HEAD", b"OPTIONS"]))
    version = draw(st.sampled_from([b"1.1"] * 9 + [b"1.0"]))
    lines = [b"Host: x", draw(st.sampled_from(CARRIERS)), *draw(st.lists(st.sampled_from(FIELDS), max_size=2))]
    framing = draw(st.sampled_from(["length"] * 8 + ["chunks", "none", "short"]))
    if framing == "chunks":
        half = len(body) // 2
        lines.append(b"Transfer-Encoding: chunked")
        body = (
            b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:]) if part) + b"0\r\n\r\n"
        )
    elif framing != "none":
        lines.append(b"Content-Length: %d" % max(0, len(body) - (framing == "short")))
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
    spell = draw(st.sampled_from(SPELLINGS))
    named = [spell(name) + colon + value for name, colon, value in (line.partition(b":") for line in lines)]
    head = b"\r\n".join([b"%s %s HTTP/%s" % (method, draw(st.sampled_from(TARGETS)), version), *named])
    return head + b"\r\n\r\n" + body


@st.composite
def plain_requests(draw: Any) -> bytes:
    """What clients send: these reach an engine."""
    body = draw(good_bodies(st.just("tiny")))
    lines = [b"Host: x", CARRIERS[0], b"Content-Length: %d" % len(body), *draw(st.lists(PLAIN_FIELDS, max_size=2))]
    target = draw(st.sampled_from(TARGETS[:12]))
    return b"POST %s HTTP/1.1\r\n%s\r\n\r\n%s" % (target, b"\r\n".join(lines), body)


WORD = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"w\xc3\xb6rd"}}],"usage":null}\n\n'
USAGE = b'data: {"id":"1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n'
DONE = b"data: [DONE]\n\n"
EVENTS = (
    WORD,
    WORD,
    WORD,
    WORD.replace(b"\n", b"\r\n"),
    b": comment\n\n",
    b'data: {"error":{"message":"no"}}\n\n',
    b"data: x",
)
PLAIN = b'{"id":"1","choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}'
DOCUMENTS = (PLAIN, PLAIN, b"", b"not json", b'{"error":{"message":"no","code":"x"}}', b"y" * 70_000)
STATUSES = (*[200] * 8, 204, 304, 400, 404, 500, 503, 503, 201, 302)
ENGINE_FIELDS = (
    b"Server: e",
    b"Set-Cookie: a=b",
    b"Retry-After: 7",
    b"X-Other: 1",
    b"Connection: close",
    b"Content-Length: 5",
)


@st.composite
def replies(draw: Any) -> Reply:
    kind = draw(st.sampled_from(["whole"] * 6 + ["stream"] * 6 + ["garbage", "nothing", "interim"]))
    if kind == "nothing":
        return Reply((), draw(st.sampled_from(["close", "reset", "silent"])))
    if kind == "garbage":
        return Reply(_cut(draw, draw(st.sampled_from([b"nonsense\r\n\r\n", b"HTTP/9.9 200\r\n\r\n", b"\0" * 9]))), "")
    is_stream = kind == "stream"
    body = b"".join([*draw(st.lists(st.sampled_from(EVENTS), max_size=4)), USAGE, DONE]) if is_stream else b""
    body = body if is_stream else draw(st.sampled_from(DOCUMENTS))
    status = draw(st.sampled_from([200] * 9 + [503])) if is_stream else draw(st.sampled_from(STATUSES))
    if (
        status >= 300
    ):  # of a longer error only the beginning is read: whether its end has come by then is a matter of time
        body = body[:1000]
    lines = [b"Content-Type: " + (b"text/event-stream" if is_stream else b"application/json")]
    lines += draw(st.lists(st.sampled_from(ENGINE_FIELDS), max_size=2))
    framing = draw(st.sampled_from(["length", "chunks", "chunks", "close"]))
    is_bodiless = status in {
        204,
        304,
    }  # whole with its head: whether the next request sees its close is a matter of time
    end = "close" if framing == "close" and not is_bodiless else ""
    if framing == "chunks":
        at = draw(st.integers(0, len(body)))
        body = _chunked(body, at) + draw(st.sampled_from([b"\r\n", b"\r\n", b"X-Trailer: 1\r\n\r\n"]))
        lines.append(b"Transfer-Encoding: chunked")
    elif framing == "length":
        lines.append(b"Content-Length: %d" % len(body))
    head = b"\r\n".join([b"HTTP/1.1 %d Word" % status, *lines]) + b"\r\n\r\n"
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" if kind == "interim" else b""
    said = interim + head + body
    if draw(st.integers(0, 5)) == 0:  # it breaks off
        last = len(interim + head) - 1 if is_bodiless else len(said) - 1
        said, end = said[: draw(st.integers(0, last))], draw(st.sampled_from(["close", "reset", "silent"]))
    return Reply(_cut(draw, said), end)


def _cut(draw: Any, data: bytes) -> tuple[bytes, ...]:
    cuts = sorted({draw(st.integers(0, len(data))) for _ in range(draw(st.integers(0, 3)))})
    edges = [0, *cuts, len(data)]
    return tuple(piece for piece in (data[a:b] for a, b in itertools.pairwise(edges)) if piece)


@st.composite
def _spoilt(draw: Any, data: bytes) -> bytes:
    at = draw(st.integers(0, min(len(data), 400)))
    what = draw(st.sampled_from([b"", b"\r", b"\n", b"\0", b" ", b":", b"\xff", b"\r\n", b"\r\n\r\n", b"0", b"A"]))
    return data[:at] + what + data[at + draw(st.integers(0, 1)) :]


@st.composite
def cases(draw: Any) -> Case:
    is_plain = draw(st.sampled_from([True, True, True, False]))
    kind = plain_requests() if is_plain else requests()
    data = b"".join(draw(st.lists(kind, min_size=1, max_size=draw(st.sampled_from([1, 1, 2, 4])))))
    if draw(st.sampled_from([False, False, True])) and not is_plain:
        data = draw(_spoilt(data))
    reads = _cut(draw, data)
    if draw(st.sampled_from([False, False, True])):  # the same head again, in a read of its own, is known
        reads = (*reads, *[data] * draw(st.integers(1, 2)))
    return Case(
        reads,
        tuple(draw(st.lists(replies(), min_size=1, max_size=4))),
        refuses=draw(st.sampled_from([0] * 6 + [1, 2])),
        aborts_after=draw(st.sampled_from([None] * 5 + list(range(len(reads))))),
        is_slow=draw(st.sampled_from([False, False, False, True])),
        replicas=draw(st.sampled_from([1, 1, 2])),
    )


REST = ("refuses", "aborts_after", "is_slow", "is_together", "replicas")


def as_document(case: Case) -> dict[str, Any]:
    replies = [{"pieces": _texts(reply.pieces), "end": reply.end} for reply in case.replies]
    return {"reads": _texts(case.reads), "replies": replies, **{name: getattr(case, name) for name in REST}}


def of_document(document: dict[str, Any]) -> Case:
    replies = tuple(Reply(_bytes(each["pieces"]), each["end"]) for each in document["replies"])
    return Case(_bytes(document["reads"]), replies, **{name: document[name] for name in REST})


def _texts(pieces: tuple[bytes, ...]) -> list[str]:
    return [each.decode("latin-1") for each in pieces]


def _bytes(pieces: list[str]) -> tuple[bytes, ...]:
    return tuple(each.encode("latin-1") for each in pieces)
