"""A request that has to wait: until its turn, a cause, or its client's end. A stream is shown what it waits for."""

import asyncio
from collections.abc import Sequence
from types import TracebackType

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import anthropic
from gpustack_lite.gateway.answers import NOSNIFF, Field
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.turns import Ask, Place, Turns, Waiting
from gpustack_lite.wire import ModelRoute

FIRST_FRAME_SECONDS = 1.0
"""Who waits for less has an answer with a status of its own."""
FRAME_SECONDS = 3.0
STREAMED = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"})
"""Where `stream` means server-sent events, whose comments every client passes over."""
_STREAM: tuple[Field, ...] = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    NOSNIFF,
)


class Standing:
    """In line while the `with` lasts; who leaves it early leaves the line at once."""

    __slots__ = ("_turns", "_waiting")

    def __init__(self, turns: Turns, waiting: Waiting) -> None:
        self._turns = turns
        self._waiting = waiting

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None:
            self._turns.left(self._waiting)


class Queueing:
    """One request's waits. `call` is what its answer is to be given to, which changes when an answer has begun."""

    def __init__(self, turns: Turns, call: Call, ask: Ask) -> None:
        self.call = call
        self.waited_seconds: float | None = None
        self.has_begun = False
        self._turns = turns
        self._ask = ask

    async def place(self, routes: Sequence[ModelRoute], without: Sequence[int]) -> Place:
        """
        Raises:
            Refusal: 429 when too many wait or it waited for too long, 503 when the model will not come.
        """
        while True:
            now = self._turns.as_they_are(routes)
            found = self._turns.take(now, self._ask, without)
            if found is not None:
                return found
            self._tell_state(now)
            waiting = self._turns.join(routes, self._ask, without)
            with Standing(self._turns, waiting):
                outcome = await self._outcome(waiting)
            self._tell_time(self._turns.now() - waiting.since)
            if isinstance(outcome, Place):
                return outcome
            if outcome is not None:
                raise outcome

    async def _outcome(self, waiting: Waiting) -> Place | Refusal | None:
        """Never by awaiting the turn itself: a client that leaves would cancel it under the line's hands."""
        is_shown = self._ask.is_stream and self.call.path in STREAMED
        pause = None if not is_shown else FRAME_SECONDS if self.has_begun else FIRST_FRAME_SECONDS
        while not (await asyncio.wait({waiting.turn}, timeout=pause))[0]:
            if self._turns.is_waking(waiting):
                await self._show(waiting.model)
                pause = FRAME_SECONDS
        return waiting.turn.result()

    async def _show(self, model: str) -> None:
        if not self.has_begun:
            await self.call.start(200, list(_STREAM))
            self.call = Begun(self.call)
            self.has_begun = True
        await self.call.write(frame(self._turns.table.models[model]))

    def _tell_state(self, routes: Sequence[ModelRoute]) -> None:
        if routes and not any(route.endpoints for route in routes):
            state = "waking" if self._turns.can_be_held(routes[0]) else routes[0].state
            self._tell(b"x-gpustack-model-state", state.encode())

    def _tell_time(self, seconds: float) -> None:
        self.waited_seconds = (self.waited_seconds or 0.0) + seconds
        self._tell(b"x-gpustack-queue-seconds", b"%.3f" % self.waited_seconds)

    def _tell(self, name: bytes, value: bytes) -> None:
        self.call.extra_fields = [each for each in self.call.extra_fields if each[0] != name] + [(name, value)]


class Begun(Call):
    """An answer whose head is out, as an event stream, before there was an engine to give it."""

    def __init__(self, call: Call) -> None:
        vars(self).update(vars(call))
        self._begun = call

    async def start(self, status: int, fields: list[Field], *, length: int | None = None) -> None:
        """The client has had it."""

    async def write(self, data: bytes) -> None:
        await self._begun.write(data)

    async def finish(self, data: bytes = b"") -> None:
        self.is_finished = True
        await self._begun.finish(data)

    def cut(self) -> None:
        self.is_finished = True
        self._begun.cut()

    async def answer(self, status: int, body: bytes, fields: list[Field]) -> None:
        """What is no stream becomes one event; an error is not followed by a whole end."""
        event = b"".join(b"data: %s\n" % line for line in body.splitlines()) + b"\n"
        if status < 400:
            await self.finish(event)
            return
        await self.write(b"event: error\n" + event if self.path in anthropic.PATHS else event)
        self.cut()

    async def refuse(self, refusal: Refusal) -> None:
        await self.answer_error(refusal.status, self.document_of(refusal))


def frame(route: ModelRoute) -> bytes:
    """A comment of server-sent events: nobody but a person takes note of it."""
    loading = route.loading or {}
    said = [f"waking {route.name}", str(loading.get("phase") or loading.get("state") or route.state)]
    if (progress := loading.get("progress")) is not None:
        said[-1] += f" {round(progress * 100)} %"
    return f": {', '.join(said)}\n\n".encode()
