"""Mixed requests through two gateways that are killed at random, and an engine that keeps books of its own."""

import asyncio
import contextlib
import random
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import httpx

from gpustack_lite.wire import UsageRow
from tests.fakes.gateway_world import KEY, Gateway, route
from tests.fakes.route_server import RouteServer, credential
from tests.fakes.scripted_engine import DONE, SSE_HEAD, Request, ScriptedEngine, Talk, chunk, frame, usage_of

MODEL = "tiny"
KILLED = "gateway_killed"
KINDS = ("stream",) * 10 + ("plain",) * 5 + ("embeddings",) * 3 + ("error", "broken")
PATHS = {"embeddings": "/v1/embeddings"}
CANCELLED = 0.05


@dataclass(slots=True)
class Counted:
    """What the engine did for one request; `frames` were written, whether or not anybody read them."""

    kind: str
    prompt: int
    completion: int
    frames: int = 0
    times: int = 1
    is_whole: bool = False


@dataclass(slots=True)
class CountingEngine:
    """Its answers are what the body's `plan` says, and it writes down what it answered, by X-Request-ID."""

    books: dict[str, Counted] = field(default_factory=dict)

    async def script(self, request: Request, talk: Talk) -> None:
        plan = request.json["plan"]
        name = request.header("x-request-id") or ""
        if name in self.books:
            self.books[name].times += 1
        entry = self.books.setdefault(name, Counted(plan["kind"], plan["prompt"], plan["completion"]))
        match plan["kind"]:
            case "stream" | "broken":
                await self._stream(talk, entry, breaks=plan["kind"] == "broken")
            case "error":
                await talk.answer_json({"error": {"message": "no"}}, status=plan["status"])
            case _:
                await asyncio.sleep(0.02)
                await talk.answer_json({"data": [], "choices": [], "usage": usage_of(entry.prompt, entry.completion)})
        entry.is_whole = plan["kind"] != "broken"

    async def _stream(self, talk: Talk, entry: Counted, *, breaks: bool) -> None:
        talk.writer.write(SSE_HEAD)
        for _ in range(entry.completion):
            entry.frames += 1
            talk.writer.write(chunk(frame("word ")))
            await talk.writer.drain()
            await asyncio.sleep(0.005)
        if breaks:
            talk.writer.close()
            return
        ending = frame(finish="stop"), frame(usage=usage_of(entry.prompt, entry.completion)), DONE
        talk.writer.write(b"".join(map(chunk, ending)) + b"0\r\n\r\n")
        await talk.writer.drain()


class Killing:
    """`async with Killing(tmp_path) as killing:` then `await killing.run(500, kills=4)`."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.gateways = [Gateway(folder), Gateway(folder)]
        self.server = RouteServer(self.gateways[0].socket_path)
        self.engine = CountingEngine()
        self.outcomes: Counter[str] = Counter()
        self._scripted = ScriptedEngine(self.engine.script)
        self._random = random.Random(seed)
        self._client = httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=60)

    async def __aenter__(self) -> "Killing":
        await self._scripted.__aenter__()
        await self.server.start()
        for gateway in self.gateways:
            await gateway.start()
        await self.server.publish((route(MODEL, self._scripted.address),), (credential(KEY),))
        for gateway in self.gateways:
            await self._wait_ready(gateway)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()
        for gateway in self.gateways:
            await gateway.stop()
        await self.server.stop()
        await self._scripted.__aexit__(kind, error, trace)

    async def _wait_ready(self, gateway: Gateway) -> None:
        async with asyncio.timeout(60):
            while (await self._client.get(f"{gateway.url}/v1/models")).status_code != 200:
                await asyncio.sleep(0.05)

    # --- the load

    async def run(self, requests: int, *, kills: int, clients: int = 16) -> None:
        """All requests, while the gateways are killed and started again, spread over them."""
        numbers = iter(range(requests))
        done: list[int] = []
        killer = asyncio.create_task(self._kill(requests, kills, done))
        await asyncio.gather(*(self._client_of(numbers, done) for _ in range(clients)))
        await killer

    async def _client_of(self, numbers: Iterator[int], done: list[int]) -> None:
        for number in numbers:
            self.outcomes[await self._ask(number)] += 1
            done.append(number)

    async def _kill(self, requests: int, kills: int, done: list[int]) -> None:
        for nth in range(kills):
            while len(done) < requests * (nth + 0.5) / kills:
                await asyncio.sleep(0.01)
            gateway = self._random.choice(self.gateways)
            await gateway.end(signal.SIGKILL)
            await gateway.start()

    async def _ask(self, number: int) -> str:
        dice = self._random
        kind = dice.choice(KINDS)
        plan = {"kind": kind, "prompt": dice.randint(1, 500), "completion": dice.randint(1, 30), "status": 400}
        if kind == "embeddings":
            plan["completion"] = 0
        body = {"model": MODEL, "messages": [], "stream": kind in {"stream", "broken"}, "plan": plan}
        gateway = dice.choice(self.gateways)
        url = gateway.url + PATHS.get(kind, "/v1/chat/completions")
        leaves_after = dice.uniform(0.0, 0.1) if dice.random() < CANCELLED else None
        try:
            async with asyncio.timeout(leaves_after):
                answer = await self._client.post(url, json=body, headers={"X-Request-ID": f"r-{number}"})
        except TimeoutError:
            return "cancelled"
        except httpx.HTTPError:
            return "broken"
        return "refused" if answer.status_code >= 400 else "answered"

    # --- the books

    async def settle(self, seconds: float = 60) -> None:
        """Until a row has come for everything that the engine saw, and none is owed."""
        with contextlib.suppress(TimeoutError):
            await self.server.until(lambda: set(self.engine.books) <= self.named, seconds)

    @property
    def named(self) -> set[str]:
        return {row.shown_id or "" for row in self.server.rows.values()}

    def differences(self) -> list[str]:
        """Where the gateways' books and the engine's do not agree; no line is as it should be."""
        rows = Counter(row.shown_id for row in self.server.rows.values())
        found = [f"{name}: lost" for name in self.engine.books if name not in rows]
        found += [f"{name}: {count} rows" for name, count in rows.items() if count > 1]
        for row in self.server.rows.values():
            seen = self.engine.books.get(row.shown_id or "")
            wrong = _unseen(row) if seen is None else _difference(row, seen)
            found += [f"{row.shown_id}: {wrong} ({row}, {seen})"] if wrong else []
        return found


def _unseen(row: UsageRow) -> str | None:
    """No engine heard of it: it never was connected, or we or the client ended while it was."""
    is_early = row.cause in {KILLED, "client_gone"} and not row.completion_tokens
    return None if row.instance_id is None or is_early else "the engine knows nothing of it"


def _difference(row: UsageRow, seen: Counted) -> str | None:
    if row.instance_id is None:
        return "the engine knows it, the row does not say so"
    counts = row.prompt_tokens, row.completion_tokens
    if row.cause is None:
        return None if counts == (seen.prompt, seen.completion) and row.status == 200 else "other counts"
    if row.cause == "engine_error":
        return None if seen.kind == "error" and row.status == 400 else "no error of the engine"
    if row.cause not in {KILLED, "client_gone", "closed_early"} or not row.partial:
        return "an end that nothing explains"
    if row.prompt_tokens is not None:
        return None if counts == (seen.prompt, seen.completion) else "other counts"
    return None if (row.completion_tokens or 0) <= seen.frames else "more than was sent"
