"""The server's own requests to models: to a gateway of this machine, through the socket below `run/`."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gpustack_lite.ports import Ports, short_unix_path
from gpustack_lite.relay.connection import Patience
from gpustack_lite.relay.failures import UpstreamFailed
from gpustack_lite.relay.heads import serialise
from gpustack_lite.relay.pool import Lent, Pool
from gpustack_lite.relay.target import Target

SOCKETS = "gateway-*.sock"
MOST_ANSWER_BYTES = 64 * 1024**2
HOUR_SECONDS = 3600.0
"""Longer than a gateway's own patience with an engine: it answers first."""


class Answer(NamedTuple):
    status: int
    retry_after: str | None
    request_id: str
    body: bytes


class NoAnswer(Exception):
    """No gateway is there, or the one that was asked went away: asking again is all that can be done."""


class AnswerTooLong(Exception):
    """There is one, but not to be kept."""


class InnerDoor:
    def __init__(self, ports: Ports, run_dir: Path) -> None:
        self._pool = Pool(ports.network, ports.clock, Patience(2.0, HOUR_SECONDS, HOUR_SECONDS))
        self._run_dir = run_dir
        self._turn = itertools.count()

    async def post(self, path: str, body: bytes, secret: str) -> Answer:
        """
        Raises:
            NoAnswer: there was no whole one.
            AnswerTooLong: it has more than `MOST_ANSWER_BYTES`.
        """
        try:
            async with asyncio.timeout(HOUR_SECONDS):
                return await self._exchange(path, body, [(b"authorization", b"Bearer " + secret.encode())])
        except (UpstreamFailed, TimeoutError) as error:
            raise NoAnswer from error

    async def open(self, path: str, body: bytes, fields: Sequence[tuple[bytes, bytes]]) -> Lent:
        """An answer that has begun, to be read as it comes; `fields` say who asks.

        Raises:
            UpstreamFailed: none began.
        """
        self._pool.sweep()
        said = [(b"host", b"localhost"), (b"content-type", b"application/json"), *fields]
        parts = [serialise(b"POST", path.encode(), said, length=len(body)), body]
        return await self._pool.request(self._target(), b"POST", parts)

    def close(self) -> None:
        self._pool.close()

    async def _exchange(self, path: str, body: bytes, fields: Sequence[tuple[bytes, bytes]]) -> Answer:
        with await self.open(path, body, fields) as connection:
            answer = bytearray()
            while data := await connection.read():
                answer += data
                if len(answer) > MOST_ANSWER_BYTES:
                    raise AnswerTooLong
            said = dict(connection.fields)
            retry_after, request_id = (said.get(name) for name in (b"retry-after", b"x-request-id"))
            return Answer(connection.status, _text(retry_after), _text(request_id) or "", bytes(answer))

    def _target(self) -> Target:
        sockets = sorted(self._run_dir.glob(SOCKETS))
        if not sockets:
            raise UpstreamFailed("connect_failed")
        return Target(unix_path=short_unix_path(sockets[next(self._turn) % len(sockets)]))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
