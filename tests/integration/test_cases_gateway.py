"""A01 to A19 (odd, without A11) and E01 as an outsider checks them: an own engine, the public port, a key."""

import base64
import contextlib
import json
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest
from langchain_openai import OpenAIEmbeddings

from tests.fakes.openai_engine import TEXT, VECTOR
from tests.harness import Document, Platform, until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
ENGINE = Path(__file__).parents[1] / "fakes" / "openai_engine.py"
NAME = "org/tiny-model:q4"


class Outsider:
    """What somebody holds who knows only the address and a key."""

    def __init__(self, platform: Platform, closings: Path) -> None:
        self.platform = platform
        self.closings = closings
        self.headers = {"Authorization": f"Bearer {platform.key()}"}
        self.client = httpx.Client(base_url=platform.url, headers=self.headers, timeout=60, trust_env=False)
        self.openai = openai.OpenAI(base_url=f"{platform.url}/v1", api_key=platform.key(), max_retries=0)

    def close(self) -> None:
        self.client.close()
        self.openai.close()

    def stream(self, user: str, **more: object) -> tuple[str, bytes, bool]:
        """The request's id, the bytes, and whether the body was whole."""
        received = b""
        body = {"model": NAME, "messages": [], "stream": True, "user": user, **more}
        with self.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            assert answer.status_code == 200
            try:
                for data in answer.iter_raw():
                    received += data
            except httpx.RemoteProtocolError:
                return answer.headers["x-request-id"], received, False
        return answer.headers["x-request-id"], received, True

    def said(self, user: str) -> str:
        chunks = self.openai.chat.completions.create(model=NAME, messages=[], stream=True, user=user)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    def row(self, request_id: str) -> Document:
        def find() -> Document | None:
            return next((row for row in self.platform.requests(NAME) if row["request_id"] == request_id), None)

        found = self.platform.until(find, seconds=20)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def outsider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outsider]:
    folder = tmp_path_factory.mktemp("cases")
    closings = folder / "closings"
    with Platform(folder) as platform:
        command = [sys.executable, str(ENGINE), "--port", "{port}", "--log", str(closings)]
        platform.create_backend({"name": "mock", "command": command, "claim": {"ram_bytes": 100_000_000}})
        platform.deploy(NAME, source="huggingface:org/tiny-model", backend="mock")
        platform.wait_ready(NAME)
        with contextlib.closing(Outsider(platform, closings)) as one:
            yield one


def events(received: bytes) -> list[Document]:
    lines = [line.removeprefix("data: ") for line in received.decode().splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_a01_usage_is_shown_to_who_asks_and_stored_for_both(outsider: Outsider) -> None:
    first, unasked, _ = outsider.stream("plain")
    second, asked, _ = outsider.stream("plain", stream_options={"include_usage": True})
    assert all(each["choices"] and not each.get("usage") for each in events(unasked))
    *_, stop, usage = events(asked)
    assert stop["choices"][0]["finish_reason"] == "stop"
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], 3)
    assert sum(not each["choices"] for each in events(asked)) == 1
    rows = [outsider.row(request_id) for request_id in (first, second)]
    assert [(row["prompt_tokens"], row["completion_tokens"], row["status"]) for row in rows] == [(7, 3, 200)] * 2
    assert outsider.said("plain") == "abc"


@pytest.mark.parametrize(("user", "words"), [("reset", ["one ", "two "]), ("reset at once", [])])
def test_a03_an_engine_that_is_reset_is_no_complete_answer(outsider: Outsider, user: str, words: list[str]) -> None:
    request_id, received, is_whole = outsider.stream(user)
    assert b'"stop"' not in received
    assert b"[DONE]" not in received
    assert not is_whole
    *chunks, error = [json.loads(line[6:]) for line in received.split(b"\n") if line.startswith(b"data: ")]
    assert [each["choices"][0]["delta"].get("content") for each in chunks[1:]] == words
    assert {"message", "type", "code"} <= set(error["error"])
    row = outsider.row(request_id)
    assert (row["status"], row["partial"], row["cause"]) == (502, True, "closed_early")
    with pytest.raises(openai.APIError):
        outsider.said(user)


def test_a05_clients_that_are_killed_free_the_engine_within_two_seconds(outsider: Outsider) -> None:
    body = json.dumps({"model": NAME, "messages": [], "stream": True, "user": "slow"})
    command = ["curl", "-sN", "-o", "/dev/null", "-H", f"Authorization: {outsider.headers['Authorization']}"]
    command += ["--json", body, f"{outsider.platform.url}/v1/chat/completions"]
    clients = [subprocess.Popen(command) for _ in range(20)]
    in_flight = "gpustack_lite_requests_in_flight"
    outsider.platform.until(lambda: outsider.platform.metric(in_flight) == 20, seconds=30)
    killed_at = time.monotonic()
    for client in clients:
        client.kill()
    for client in clients:
        client.wait()
    outsider.platform.until(lambda: outsider.closings.exists() and len(outsider.closings.read_text().split()) == 20, 10)
    assert max(map(float, outsider.closings.read_text().split())) - killed_at < 2
    outsider.platform.until(lambda: outsider.platform.metric(in_flight) == 0, seconds=5)
    logs = (outsider.platform.data_dir / "logs").glob("*.log")
    assert not [log for log in logs if "never retrieved" in log.read_text()]


@pytest.mark.parametrize("spelling", [NAME, "org%2Ftiny-model:q4", "org%2Ftiny-model%3Aq4"])
def test_a07_what_is_listed_can_be_fetched_in_every_spelling(outsider: Outsider, spelling: str) -> None:
    assert NAME in [each["id"] for each in outsider.client.get("/v1/models").json()["data"]]
    found = raw_get(outsider, f"/v1/models/{spelling}")
    assert (found["id"], found["object"]) == (NAME, "model")
    assert (type(found["created"]), type(found["owned_by"])) == (int, str)
    assert outsider.openai.models.retrieve(NAME).id == NAME
    assert raw_get(outsider, "/v1/models/org/other")["error"]["code"] == "model_not_found"


def test_a07_an_alias_is_fetched_and_answers_under_its_own_name(outsider: Outsider) -> None:
    alias = "alias/of:tiny"
    route = {"name": alias, "targets": [{"model": NAME}]}
    assert outsider.platform.api.post("/api/v1/model-routes", json=route).status_code == 201
    try:
        assert outsider.openai.models.retrieve(alias).id == alias
        for spelling in ("alias/of:tiny", "alias%2Fof:tiny", "alias%2fof%3Atiny"):
            assert raw_get(outsider, f"/v1/models/{spelling}")["id"] == alias
        chunks = list(outsider.openai.chat.completions.create(model=alias, messages=[], stream=True))
        assert {chunk.model for chunk in chunks} == {alias}
    finally:
        assert outsider.platform.api.delete(f"/api/v1/model-routes/{alias}").status_code == 204


def raw_get(outsider: Outsider, path: str) -> Document:
    """httpx would spell the path its own way."""
    host, _, port = outsider.platform.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {outsider.headers['Authorization']}\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    document: Document = json.loads(received.partition(b"\r\n\r\n")[2])
    return document


@pytest.mark.parametrize("encoding", [{}, {"encoding_format": "float"}], ids=["unsaid", "float"])
def test_a09_vectors_come_as_numbers_where_they_were_asked_for(outsider: Outsider, encoding: dict[str, str]) -> None:
    answer = outsider.client.post("/v1/embeddings", json={"model": NAME, "input": "x", **encoding})
    assert answer.json()["data"][0]["embedding"] == VECTOR


def test_a09_vectors_come_packed_where_they_were_asked_for(outsider: Outsider) -> None:
    asked = {"model": NAME, "input": "x", "encoding_format": "base64"}
    packed = outsider.client.post("/v1/embeddings", json=asked).json()["data"][0]["embedding"]
    assert len(packed) == 5464
    assert len(base64.b64decode(packed)) == 4096
    assert struct.unpack("<1024f", base64.b64decode(packed)) == tuple(VECTOR)


@pytest.mark.parametrize("user", ["plain", "floats only"])
def test_a09_clients_get_numbers_from_every_engine(outsider: Outsider, user: str) -> None:
    """What an engine answers is passed as it is: the clients look at what came, not at what they asked for."""
    (found,) = outsider.openai.embeddings.create(model=NAME, input="x", user=user).data
    assert found.embedding == pytest.approx(VECTOR, abs=1e-6)
    langchain = OpenAIEmbeddings(
        model=NAME,
        client=outsider.openai.embeddings,
        base_url=f"{outsider.platform.url}/v1",
        api_key=outsider.platform.key(),  # type: ignore[arg-type]
        check_embedding_ctx_length=False,
        model_kwargs={"user": user},
    )
    assert langchain.embed_query("x") == pytest.approx(VECTOR, abs=1e-6)
    assert len(langchain.embed_documents(["x", "y"])) == 2


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
def test_a13_a_ranking_keeps_its_order_and_is_counted(outsider: Outsider, path: str) -> None:
    body = {"model": NAME, "query": "q", "documents": ["a", "b", "c"]}
    answer = outsider.client.post(path, json=body)
    results = [(each["index"], each["relevance_score"]) for each in answer.json()["results"]]
    assert (answer.status_code, results) == (200, [(1, 0.9), (2, 0.5), (0, 0.1)])
    row = outsider.row(answer.headers["x-request-id"])
    assert (row["prompt_tokens"], row["status"], row["path"]) == (12, 200, path)


def test_a13_an_error_of_a_ranking_is_an_error_and_costs_nothing(outsider: Outsider) -> None:
    answer = outsider.client.post("/v1/rerank", json={"model": NAME, "query": "q", "documents": []})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "documents must not be empty"
    row = outsider.row(answer.headers["x-request-id"])
    assert (row["status"], row["prompt_tokens"], row["completion_tokens"]) == (400, None, None)
    logs = (outsider.platform.data_dir / "logs").glob("*.log")
    assert not [log for log in logs if "Traceback" in log.read_text() or '"level":"error"' in log.read_text()]


def test_a15_an_unknown_model_is_not_a_matter_of_the_key(outsider: Outsider) -> None:
    other = outsider.platform.key("other", models=["something-else"])
    tries = [
        (outsider.platform.key(), "nope", openai.NotFoundError, "model_not_found", "invalid_request_error"),
        (other, NAME, openai.PermissionDeniedError, "model_not_allowed", "permission_error"),
        ("sk-bad", NAME, openai.AuthenticationError, "invalid_api_key", "authentication_error"),
    ]
    for key, model, error, code, kind in tries:
        with pytest.raises(error) as refused:
            outsider.openai.with_options(api_key=key).chat.completions.create(model=model, messages=[])
        assert (refused.value.code, refused.value.type) == (code, kind)
        assert isinstance(refused.value.body, dict)
        assert {"message", "type", "param", "code"} <= set(refused.value.body)


def test_a17_comments_crlf_and_spread_events_pass(outsider: Outsider) -> None:
    began_at = time.monotonic()
    body = {"model": NAME, "messages": [], "stream": True, "user": "prefill"}
    with outsider.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        assert time.monotonic() - began_at < 1
        assert b"error" not in answer.read()
    assert outsider.said("prefill") == "Hello world"


@pytest.mark.parametrize("user", ["bytes", "bytes with CRLF", "cut"])
def test_a19_characters_survive_every_cut(outsider: Outsider, user: str) -> None:
    assert outsider.said(user) == TEXT
    assert "\ufffd" not in outsider.stream(user)[1].decode()


def test_e01_nothing_answers_who_shows_no_credential_or_that_of_a_user(outsider: Outsider) -> None:
    """E01: every route of ours, and where other servers tell anybody; a user's key is no worker's or admin's."""
    described = outsider.platform.api.get("/api/v1/openapi.json").json()["paths"]
    routes = [(method, path) for path, methods in described.items() for method in methods]
    routes += [("get", f"/api/agent/v1/{name}") for name in ("assignment", "logs")]
    routes += [("post", f"/api/agent/v1/{name}") for name in ("heartbeat", "status", "logs/1")]
    routes += [("get", path) for path in ("/metrics", "/docs", "/openapi.json", "/debug", "/slots", "/v1/models")]
    is_open = {("get", "/api/v1/version"), ("post", "/api/v1/auth/login"), ("get", "/api/v1/auth/methods")}
    is_open |= {("get", f"/api/v1/auth/oidc/{step}") for step in ("start", "callback")}
    own = {(method, path) for method, path in routes if path.startswith("/v1/")} | {
        ("get", "/api/v1/requests"),
        ("get", "/api/v1/requests/{ref}"),
        ("post", "/api/v1/compare"),
    }
    for headers, allowed in (({}, is_open), (outsider.headers, is_open | own)):
        for method, path in (each for each in routes if each not in allowed):
            url = outsider.platform.url + re.sub(r"\{[^}]*\}", "1", path)
            status = httpx.request(method, url, headers=headers, trust_env=False).status_code
            assert status in {401, 403} or (status == 404 and not path.startswith("/api")), (method, path, status)


def test_a_model_that_the_api_calls_ready_answers_at_once(outsider: Outsider) -> None:
    """No 404 and no 503 between what the API says and what the gateways know; a new key works at once too."""
    platform = outsider.platform
    for number in range(10):
        name = f"fresh-{number}"
        platform.deploy(name, backend="echo")
        until(lambda name=name: platform.model(name)["state"] == "ready", seconds=60)
        key = platform.api.post("/api/v1/keys", json={"name": name}).json()["key"]
        told = outsider.openai.with_options(api_key=key).models.retrieve(name).model_extra or {}
        assert (told["context_length"], told["max_model_len"], told["state"]) == (None, None, "ready")
        answer = outsider.openai.with_options(api_key=key).chat.completions.create(
            model=name, messages=[{"role": "user", "content": "hello"}]
        )
        assert answer.choices[0].message.content == "hello"
        platform.api.delete(f"/api/v1/models/{name}")
