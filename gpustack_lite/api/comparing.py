"""One prompt sent to several models at once, all answers told in one stream.

HTTP/1.1 gives a browser six connections to a host, and the change stream holds one: six answers would leave none.
Each request goes to a gateway with the credential that its sender showed, so it is admitted, limited and counted like
any other; what comes back is passed on as it comes, with the number of its pane.
"""

import asyncio
import codecs
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gpustack_lite.api.context import Context
from gpustack_lite.domain import Sentence
from gpustack_lite.messages import Language, text
from gpustack_lite.relay.connection import Connection
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.inner_door import InnerDoor

PATH = "/v1/chat/completions"
WAITING = 64
"""So many parts wait for a slow reader before the engines do."""
QUIET_SECONDS = 10.0
_COMMENT = b": still here\n\n"
Fields = Sequence[tuple[bytes, bytes]]
Told = asyncio.Queue[bytes | None]


async def stream(
    context: Context, fields: Fields, requests: Sequence[dict[str, Any]], language: Language
) -> AsyncGenerator[bytes]:
    """Events `begin` {pane, status}, `part` {pane, text}, and `end` {pane} or `broken` {pane, message} at last."""
    door = InnerDoor(context.ports, context.data_dir / "run")
    told: Told = asyncio.Queue(WAITING)
    asking = _Asking(door, fields, told, text(Sentence("compare_broken"), language))
    panes = [asyncio.create_task(asking.ask(pane, request)) for pane, request in enumerate(requests)]
    ending = asyncio.create_task(_end(context, panes, told))
    try:
        while (event := await _next(told)) is not None:
            yield event
        await asyncio.gather(*(each for each in panes if each.done()))
    finally:
        for task in (*panes, ending):
            task.cancel()
        await asyncio.gather(*panes, ending, return_exceptions=True)
        door.close()


@dataclass(frozen=True, slots=True)
class _Asking:
    door: InnerDoor
    fields: Fields
    told: Told
    broken: str

    async def ask(self, pane: int, request: dict[str, Any]) -> None:
        """One that fails says so, and does not disturb the others."""
        try:
            with await self.door.open(PATH, msgspec.json.encode(request), self.fields) as answer:
                await self.told.put(event("begin", pane=pane, status=answer.status))
                await self._pass_on(pane, answer)
        except UpstreamFailed:
            await self.told.put(event("broken", pane=pane, message=self.broken))
        else:
            await self.told.put(event("end", pane=pane))

    async def _pass_on(self, pane: int, answer: Connection) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while data := await answer.read():
            if part := decoder.decode(data):
                await self.told.put(event("part", pane=pane, text=part))


async def _end(context: Context, panes: Sequence["asyncio.Task[None]"], told: Told) -> None:
    """When all have answered, or the server stops."""
    stopping = asyncio.create_task(context.stopping.wait())
    answered = asyncio.create_task(asyncio.wait(panes))
    try:
        await asyncio.wait((stopping, answered), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        answered.cancel()
    await told.put(None)


async def _next(told: Told) -> bytes | None:
    """A word at least every ten seconds: an engine may think for longer before its first token."""
    try:
        async with asyncio.timeout(QUIET_SECONDS):
            return await told.get()
    except TimeoutError:
        return _COMMENT


def event(kind: str, **data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(data))
