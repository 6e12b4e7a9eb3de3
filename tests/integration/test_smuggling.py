"""No request that could be read in two ways reaches an engine twice or wrongly, and what is refused is closed."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from tests.fakes import smuggling
from tests.fakes.gateway_world import KEY, World
from tests.fakes.scripted_engine import Request, ScriptedEngine, Talk, chat
from tests.fakes.smuggling import Vector

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
AT_ONCE = 8
_ANSWER = re.compile(rb"HTTP/1\.1 (\d\d\d) ")
_NUMBER = re.compile(rb"vector-(\d+)")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with World(tmp_path_factory.mktemp("smuggling")) as made:
        yield made


@dataclass(slots=True)
class Seen:
    """What the engine was asked, by the number in the body."""

    requests: dict[int, list[Request]] = field(default_factory=dict)
    strange: list[Request] = field(default_factory=list)

    def note(self, request: Request) -> None:
        found = _NUMBER.findall(request.body)
        if request.path != smuggling.PATH or len(found) != 1:
            self.strange.append(request)
            return
        self.requests.setdefault(int(found[0]), []).append(request)


@dataclass(frozen=True, slots=True)
class Verdict:
    vector: Vector
    answers: tuple[int, ...]
    is_malformed: bool
    is_closed: bool
    requests: tuple[Request, ...]

    @property
    def fault(self) -> str | None:
        """Refused means that the engine heard nothing and that no second answer can follow; else it heard it once."""
        if len(self.requests) > 1:
            return "reached the engine twice"
        if self.requests and self.requests[0].body != self.vector.body:
            return "reached the engine changed"
        if self.requests and not _is_framed_once(self.requests[0]):
            return "reached the engine with two framings"
        if not self.requests and 200 in self.answers:
            return "was answered 200 without an engine"
        if self.is_malformed and not (self.is_closed and len(self.answers) <= 1 + len(self.requests)):
            return "was refused as malformed, and the connection went on"
        return None


def _is_framed_once(request: Request) -> bool:
    names = [name for name, _ in request.headers if name in {"content-length", "transfer-encoding"}]
    return names == ["content-length"]


async def tried(world: World, seen: Seen, vector: Vector) -> Verdict:
    """All answers until the gateway closes, or until it waits for more of what it takes for a body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.gateway.port)
    writer.write(vector.raw)
    heard, is_closed = b"", False
    try:
        while not is_closed:
            async with asyncio.timeout(5 if len(_ANSWER.findall(heard)) < 2 else 0.05):
                data = await reader.read(65536)
            heard, is_closed = heard + data, not data
            if len(_ANSWER.findall(heard)) < 2 and b"vector" not in heard and b"HTTP/1.1 1" not in heard:
                writer.write_eof()
    except (TimeoutError, ConnectionError, RuntimeError):
        pass
    writer.close()
    answers = tuple(int(status) for status in _ANSWER.findall(heard))
    return Verdict(
        vector, answers, b"request_not_http" in heard, is_closed, tuple(seen.requests.get(vector.number, ()))
    )


async def test_no_vector_reaches_an_engine_twice_or_wrongly(world: World) -> None:
    corpus = smuggling.Writer(KEY).corpus()
    assert len(corpus) >= 2000
    assert len({vector.raw for vector in corpus}) == len(corpus)
    seen = Seen()

    async def script(request: Request, talk: Talk) -> None:
        seen.note(request)
        await chat(request, talk)

    world.engine.script = script
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(vector: Vector) -> Verdict:
        async with turn:
            return await tried(world, seen, vector)

    verdicts = await asyncio.gather(*(one(vector) for vector in corpus))
    faults = [f"{each.vector.name}: {each.fault} {each.answers}" for each in verdicts if each.fault]
    assert faults == []
    assert [(request.path, request.body) for request in seen.strange] == []
    refused = Counter(each.answers[:1] for each in verdicts if not each.requests)
    assert refused[(400,)] > 1000
    assert sum(bool(each.requests) for each in verdicts) > 100, "a gateway that refuses everything proves nothing"


async def test_after_all_of_them_everybody_gets_his_own_answer(world: World) -> None:
    async def echo(request: Request, talk: Talk) -> None:
        await talk.answer_json({"object": "chat.completion", "said": request.json["user"], "choices": []})

    world.engine.script = echo
    corpus = smuggling.Writer(KEY).corpus()[::41]

    async def ordinary(number: int) -> tuple[str, str]:
        answer = await world.chat(user=f"own-{number}")
        return f"own-{number}", answer.json()["said"]

    vectors = [asyncio.create_task(tried(world, Seen(), vector)) for vector in corpus]
    said = await asyncio.gather(*(ordinary(number) for number in range(100)))
    await asyncio.gather(*vectors)
    assert [mine for mine, got in said if mine != got] == []


@dataclass(frozen=True, slots=True)
class Trick:
    """What a hostile engine sends; `status` is what the client must get."""

    answer: bytes
    status: int


TRICKS = {
    "a second answer behind the first": Trick(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned",
        200,
    ),
    "length and coding": Trick(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\npoisoned", 502
    ),
    "a switch of protocols": Trick(b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\npoisoned", 502),
    "a CR inside a value": Trick(b"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\n{}", 502),
    "a NUL inside a value": Trick(b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\n{}", 502),
    "a signed length": Trick(b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}poisoned", 502),
    "many interim answers": Trick(b"HTTP/1.1 102 Wait\r\n\r\n" * 5000, 502),
}


@pytest.mark.parametrize("name", TRICKS)
async def test_an_engine_cannot_speak_into_anybody_elses_answer(world: World, name: str) -> None:
    trick = TRICKS[name]

    async def script(_: Request, talk: Talk) -> None:
        await talk.send(trick.answer)
        await asyncio.sleep(0.05)
        await talk.close()

    world.engine.script = script
    answer = await world.chat()
    assert answer.status_code == trick.status, answer.text
    assert "poisoned" not in answer.text
    assert "set-cookie" not in answer.headers
    world.engine.script = chat
    following = [await world.chat() for _ in range(3)]
    assert {json.loads(each.text)["choices"][0]["message"]["content"] for each in following} == {"one two three"}


async def test_a_fresh_engine_is_what_the_next_request_meets_after_an_answer_too_many() -> None:
    """The scripted engine itself cuts requests apart strictly: a hidden one would be seen as one of its own."""
    engine = ScriptedEngine()
    async with engine:
        reader, writer = await asyncio.open_connection("127.0.0.1", engine.port)
        body = smuggling.body_of(1)
        writer.write(b"POST /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body + smuggling.HIDDEN)
        while len(engine.requests) < 2:
            await reader.read(65536)
        writer.close()
    assert [request.path for request in engine.requests] == ["/a", smuggling.CANARY]
