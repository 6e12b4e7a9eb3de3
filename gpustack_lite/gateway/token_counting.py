"""Asking an engine's own tokenizer how many tokens a conversation has."""

import msgspec

from gpustack_lite.gateway import requests
from gpustack_lite.gateway.anthropic import counting
from gpustack_lite.gateway.anthropic.fields import Json
from gpustack_lite.gateway.call import Call
from gpustack_lite.relay import target
from gpustack_lite.relay.connection import Connection
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.pool import Pool
from gpustack_lite.wire import Endpoint

_MOST_BYTES = 64 * 1024**2


async def count(call: Call, conversation: Json, endpoint: Endpoint, pool: Pool) -> int | None:
    """None where the engine has no tokenizer that can be asked.

    Raises:
        UpstreamFailed: the engine broke.
    """

    async def ask(path: str, document: Json) -> bytes:
        body = msgspec.json.encode(document)
        head = requests.to_engine(call.head, call.shown_id, endpoint, len(body), path=path)
        with await pool.request(target.parse(endpoint.address), b"POST", [head, body]) as answer:
            return await _whole(answer)

    counted = counting.count_of(await ask(counting.TOKENIZE, conversation))
    if counted is not None:
        return counted
    prompt = counting.prompt_of(await ask(counting.APPLY_TEMPLATE, conversation))
    if prompt is None:
        return None
    return counting.length_of(await ask(counting.TOKENIZE, counting.content(prompt)))


async def _whole(answer: Connection) -> bytes:
    """Empty where the engine refuses."""
    read = bytearray()
    while data := await answer.read():
        read += data
        if len(read) > _MOST_BYTES:
            raise UpstreamFailed("answer_too_long", has_answered=True)
    return bytes(read) if answer.status == 200 else b""
