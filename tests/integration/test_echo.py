"""The scripted engine as a real process: it must misbehave exactly as told, or other tests prove nothing."""

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import worker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
RUNNER = Path(worker.__file__).parent / "runners" / "echo_server.py"
HEADERS = {"authorization": "Bearer key"}
ASKED = [{"role": "user", "content": "alpha beta gamma"}]
UNICODE = "你好世界🌍"


class Echo:
    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process = process
        self.port = port
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=HEADERS, timeout=30)

    def chat(self, stream: bool = False, **more: Any) -> httpx.Response:
        body = {"model": "m", "messages": ASKED, "stream": stream, **more}
        return self.client.post("/v1/chat/completions", json=body)

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.client.get("/echo/state").json()
        return state


def start(folder: Path, script: dict[str, Any]) -> Echo:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, "-I", str(RUNNER), "--port", str(port), "--model", "m", "--script", json.dumps(script)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, env={"ECHO_API_KEY": "key"}, cwd=folder, stdout=log, stderr=log)
    return Echo(process, port)


@contextmanager
def echo(folder: Path, **script: Any) -> Iterator[Echo]:
    engine = start(folder, {name.replace("_", "-"): value for name, value in script.items()})
    try:
        until(lambda: answers(engine), seconds=20)
        yield engine
    finally:
        engine.client.close()
        engine.process.kill()
        engine.process.wait()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Echo]:
    with echo(tmp_path_factory.mktemp("echo")) as engine:
        yield engine


def answers(engine: Echo) -> bool:
    try:
        return engine.client.get("/health").status_code in {200, 503}
    except httpx.TransportError:
        return False


def until(holds: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def data_of(text: str) -> list[str]:
    """Events by the SSE specification: data lines of one event are joined by line breaks, comments dropped."""
    events = text.replace("\r\n", "\n").split("\n\n")
    joined = (
        "\n".join(line.removeprefix("data: ") for line in event.split("\n") if line.startswith("data: "))
        for event in events
    )
    return [each for each in joined if each]


def text_of(stream: str) -> str:
    frames = [json.loads(each) for each in data_of(stream) if each != "[DONE]"]
    return "".join(choice["delta"].get("content", "") for frame in frames for choice in frame["choices"])


def test_it_echoes_with_tokens_that_are_words(plain: Echo) -> None:
    answer = plain.chat().json()
    assert answer["choices"][0]["message"]["content"] == "alpha beta gamma"
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (3, 3)
    assert answer["model"] == "m"
    assert "simulated" not in answer


def test_a_stream_says_its_usage_only_when_asked(plain: Echo) -> None:
    silent = data_of(plain.chat(stream=True).text)
    telling = data_of(plain.chat(stream=True, stream_options={"include_usage": True}).text)
    assert text_of(plain.chat(stream=True).text) == "alpha beta gamma"
    assert silent[-1] == telling[-1] == "[DONE]"
    assert "usage" not in "".join(silent)
    assert json.loads(telling[-2])["usage"]["total_tokens"] == 6


def test_an_answer_is_cut_at_max_tokens(plain: Echo) -> None:
    choice = plain.chat(max_tokens=2).json()["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("alpha beta", "length")


def test_a_request_may_bring_its_own_script(plain: Echo) -> None:
    by_body = plain.chat(echo={"words": 5}).json()
    by_header = plain.client.post(
        "/v1/chat/completions", json={"messages": ASKED}, headers={"x-echo-script": '{"status": 429}'}
    )
    assert by_body["usage"]["completion_tokens"] == 5
    assert (by_header.status_code, by_header.json()["error"]["code"]) == (429, "scripted")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param({"crlf": True}, id="CRLF"),
        pytest.param({"multi-line": True}, id="events of several lines"),
        pytest.param({"comments": 3}, id="comments first"),
        pytest.param({"byte-by-byte": True}, id="byte by byte"),
        pytest.param({"byte-by-byte": True, "crlf": True, "multi-line": True, "comments": 1}, id="all at once"),
    ],
)
def test_a_stream_in_any_dress_holds_the_same_text(plain: Echo, script: dict[str, Any]) -> None:
    text = plain.chat(stream=True, echo={"text": UNICODE, **script}).text
    assert text_of(text) == UNICODE
    assert ("\r\n" in text) is ("crlf" in script)
    assert text.count(": keepalive") == script.get("comments", 0)


@pytest.mark.parametrize("frames", [0, 1, 3])
def test_a_connection_is_reset_after_so_many_frames(plain: Echo, frames: int) -> None:
    body = {"messages": ASKED, "stream": True, "echo": {"reset-after-frames": frames}}
    received: list[bytes] = []
    with plain.client.stream("POST", "/v1/chat/completions", json=body) as answer, pytest.raises(httpx.ReadError):
        received.extend(answer.iter_raw())
    assert b"".join(received).count(b"data: ") == frames


def test_a_stream_that_ends_early_is_not_ended_properly(plain: Echo) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        plain.chat(stream=True, echo={"end-after-frames": 2})


def test_a_client_that_leaves_is_noticed_at_once(plain: Echo) -> None:
    before = plain.state()["left"]
    body = {"messages": ASKED, "stream": True, "echo": {"words": 1000, "chunk-ms": 60_000}}
    with plain.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        next(answer.iter_raw())
    until(lambda: plain.state()["left"] == before + 1, seconds=10)
    assert plain.state()["active"] == 0


@pytest.mark.parametrize(("given", "status"), [({}, 401), ({"authorization": "Bearer x"}, 401), (HEADERS, 200)])
def test_the_key_is_checked(plain: Echo, given: dict[str, str], status: int) -> None:
    url = f"http://127.0.0.1:{plain.port}/v1/models"
    assert httpx.get(url, headers=given).status_code == status


def test_completions_embeddings_and_tokens(plain: Echo) -> None:
    post = plain.client.post
    assert post("/v1/completions", json={"prompt": "a b"}).json()["choices"][0]["text"] == "a b"
    found = post("/v1/embeddings", json={"input": ["a", "b"], "dimensions": 5}).json()
    assert [len(each["embedding"]) for each in found["data"]] == [5, 5]
    assert isinstance(
        post("/v1/embeddings", json={"input": "a", "encoding_format": "base64"}).json()["data"][0]["embedding"], str
    )
    assert post("/tokenize", json={"content": "a b c"}).json()["count"] == 3
    assert post("/v1/rerank", json={}).status_code == 404


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'{"messages": []}', b'{"messages": 5}'])
def test_nonsense_is_refused_in_openais_shape(plain: Echo, content: bytes) -> None:
    answer = plain.client.post("/v1/chat/completions", content=content)
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


async def test_two_hundred_streams_at_once(plain: Echo) -> None:
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{plain.port}", headers=HEADERS, limits=limits, timeout=60
    ) as client:
        body = {"messages": ASKED, "stream": True, "echo": {"words": 20, "chunk-ms": 20}}
        answers = await asyncio.gather(*(client.post("/v1/chat/completions", json=body) for _ in range(200)))
    assert {len(data_of(answer.text)) for answer in answers} == {23}


def test_simulated_answers_say_so(tmp_path: Path) -> None:
    with echo(tmp_path, simulated=True) as engine:
        whole = engine.chat().json()
        frames = [json.loads(each) for each in data_of(engine.chat(stream=True).text)[:-1]]
        assert all(each["simulated"] is True for each in [whole, *frames])
        assert whole["system_fingerprint"] == "simulated"


def test_it_loads_for_a_while(tmp_path: Path) -> None:
    with echo(tmp_path, load_ms=300) as engine:
        assert engine.client.get("/health").status_code == 503
        until(lambda: engine.client.get("/health").status_code == 200, seconds=10)


def test_it_ends_with_the_code_it_was_told(tmp_path: Path) -> None:
    engine = start(tmp_path, {"exit-code": 3, "exit-line": "no luck"})
    assert engine.process.wait(20) == 3
    assert "no luck" in (tmp_path / "log").read_text()
    engine.client.close()


def test_it_crashes_after_so_many_requests(tmp_path: Path) -> None:
    with echo(tmp_path, exit_after_requests=2, exit_code=7) as engine:
        assert [engine.chat().status_code for _ in range(2)] == [200, 200]
        with pytest.raises(httpx.TransportError):
            engine.chat()
        assert engine.process.wait(10) == 7


def test_it_ends_on_term_unless_it_was_told_not_to(tmp_path: Path) -> None:
    with echo(tmp_path) as engine:
        engine.process.send_signal(signal.SIGTERM)
        assert engine.process.wait(10) == -signal.SIGTERM
    with echo(tmp_path, ignore_term=True) as engine:
        engine.process.send_signal(signal.SIGTERM)
        assert engine.client.get("/health").status_code == 200


def test_its_children_keep_the_lock_when_it_dies(tmp_path: Path) -> None:
    """D01: in groups and sessions of their own, so that only a thorough worker finds them."""
    children: list[int] = []
    with echo(tmp_path, children=2, lock_file="engine.lock") as engine:
        children = [
            int(pid)
            for pid in Path(f"/proc/{engine.process.pid}/task/{engine.process.pid}/children").read_text().split()
        ]
        assert len(children) == 2
        assert all(os.getpgid(pid) != os.getpgid(engine.process.pid) for pid in children)
        until(lambda: is_locked(tmp_path / "engine.lock"), seconds=10)
    assert is_locked(tmp_path / "engine.lock")
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_locked(tmp_path / "engine.lock"), seconds=10)


def is_locked(path: Path) -> bool:
    with path.open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
