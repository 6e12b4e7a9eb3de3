"""The gateway's own requests to the server, with the gateway's token."""

from collections.abc import Callable
from pathlib import Path

from gpustack_lite.ports import Disk
from gpustack_lite.relay.connection import Patience
from gpustack_lite.relay.heads import Field, serialise
from gpustack_lite.relay.pool import Pool
from gpustack_lite.relay.target import Target

MOST_ANSWER_BYTES = 256 * 1024**2
_PATIENCE = Patience(connect_seconds=2.0, first_byte_seconds=60.0, idle_seconds=30.0)


class AnswerTooLong(Exception):
    """The server's answer is larger than anything it has to say to a gateway."""


class ServerClient:
    def __init__(self, pool: Pool, target: Callable[[], Target], token_file: Path, disk: Disk) -> None:
        self._pool = pool
        self._target = target
        self._token_file = token_file
        self._disk = disk

    async def ask(
        self, method: bytes, path: bytes, document: bytes | None = None, *, patience: Patience = _PATIENCE
    ) -> tuple[int, bytes]:
        """Status and body. A message may arrive twice, and everything that a gateway says may.

        Raises:
            UpstreamFailed: there was no whole answer.
        """
        body = document or b""
        head = serialise(method, path, self._fields(is_json=document is not None), length=len(body))
        lent = await self._pool.request(self._target(), method, [head, body], patience=patience)
        answer = bytearray()
        with lent as connection:
            while data := await connection.read():
                answer += data
                if len(answer) > MOST_ANSWER_BYTES:
                    raise AnswerTooLong
            return connection.status, bytes(answer)

    def _fields(self, *, is_json: bool) -> list[Field]:
        token = (self._disk.read(self._token_file) or b"").strip()
        fields = [(b"host", b"localhost"), (b"authorization", b"Bearer " + token)]
        return [*fields, (b"content-type", b"application/json")] if is_json else fields
