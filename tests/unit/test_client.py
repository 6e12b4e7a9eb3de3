import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from gpustack_lite.client import Client, is_loopback, join
from gpustack_lite.errors import Refusal

Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler) -> Client:
    return Client("http://127.0.0.1:1/", "secret", language="zh", transport=httpx.MockTransport(handler))


def error(status: int, **fields: Any) -> Handler:
    return lambda request: httpx.Response(status, json={"error": fields})


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("models",), "/api/v1/models"),
        (("models", "org/name"), "/api/v1/models/org%2Fname"),
        (("models", "../x y?"), "/api/v1/models/..%2Fx%20y%3F"),
        (("instances", 7, "logs"), "/api/v1/instances/7/logs"),
        (("/v1", "chat", "completions"), "/v1/chat/completions"),
    ],
)
def test_whatever_a_name_contains_it_stays_one_part_of_the_path(parts: tuple[str | int, ...], path: str) -> None:
    assert join(*parts) == path


def test_a_call_carries_credential_and_language() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={key: request.headers[key] for key in ("authorization", "accept-language")})

    with client(handler) as each:
        assert each.get("models") == {"authorization": "Bearer secret", "accept-language": "zh"}


def test_a_list_is_read_page_by_page() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        start = int(request.url.params.get("cursor", 0))
        end = start + 2
        items = list(range(start, min(end, 5)))
        return httpx.Response(200, json={"items": items, "next_cursor": str(end) if end < 5 else None, "total": 5})

    with client(handler) as each:
        assert each.listed("models") == {"items": [0, 1, 2, 3, 4], "next_cursor": None, "total": 5}
        assert each.items("models", limit=3) == [0, 1, 2]


def test_a_refusal_keeps_the_servers_sentence_status_and_code() -> None:
    with client(error(409, message="The name is taken.", code="name_taken")) as each, pytest.raises(Refusal) as refused:
        each.post("models", body={})
    assert refused.value.status == 409
    assert refused.value.params == {"message": "The name is taken.", "said": "name_taken"}


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"error": "x"}', b"\xff"])
def test_an_error_that_is_none_of_ours_is_told_by_its_status(content: bytes) -> None:
    with client(lambda request: httpx.Response(502, content=content)) as each, pytest.raises(Refusal) as refused:
        each.get("models")
    assert "502" in str(refused.value.params["message"])


def test_a_refused_credential_is_told_apart() -> None:
    with client(error(401, message="No.", code="invalid_key")) as each, pytest.raises(Refusal) as refused:
        each.get("models")
    assert refused.value.code == "sign_in_needed"


@pytest.mark.parametrize(
    "failure", [httpx.ConnectError("refused"), httpx.ReadTimeout(""), httpx.RemoteProtocolError("x")]
)
def test_no_answer_is_unreachable(failure: Exception) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise failure

    with client(handler) as each, pytest.raises(Refusal) as refused:
        each.get("models")
    assert refused.value.code == "unreachable"


@pytest.mark.parametrize("content", [b"not json", b"{"])
def test_an_answer_that_is_no_json_is_unreachable(content: bytes) -> None:
    with client(lambda request: httpx.Response(200, content=content)) as each, pytest.raises(Refusal) as refused:
        each.get("models")
    assert refused.value.code == "unreachable"


def sse(*chunks: object) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def test_chat_yields_chunks_until_done() -> None:
    body = b": comment\n\n" + sse({"a": 1}, {"b": 2}) + b"data: [DONE]\n\n" + sse({"c": 3})
    with client(lambda request: httpx.Response(200, content=body)) as each:
        assert list(each.chat({"model": "m"})) == [{"a": 1}, {"b": 2}]


def test_an_engine_that_breaks_in_a_stream_is_told() -> None:
    body = sse({"a": 1}, {"error": {"message": "The engine ended.", "code": "engine_died"}})
    with client(lambda request: httpx.Response(200, content=body)) as each, pytest.raises(Refusal) as refused:
        list(each.chat({"model": "m"}))
    assert refused.value.params["message"] == "The engine ended."


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:1", True),
        ("http://localhost", True),
        ("http://127.0.0.1.nip.io", False),
        ("http://10.0.0.1", False),
    ],
)
def test_only_this_machine_is_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize("url", ["127.0.0.1:9090", "localhost:9090", "ftp://host", "http://", "http://[::1", "host"])
def test_what_is_no_address_of_a_server_is_said_before_anything_is_sent(url: str) -> None:
    with pytest.raises(Refusal) as refused:
        Client(url)
    assert refused.value.code == "server_url_invalid"


def test_a_server_that_does_not_answer_is_told_without_numbers_of_the_system() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[Errno 111] Connection refused")

    with client(refuse) as each, pytest.raises(Refusal) as refused:
        each.get("models")
    assert refused.value.params["why"] == "Connection refused"
