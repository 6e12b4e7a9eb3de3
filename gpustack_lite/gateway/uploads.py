"""Request bodies that are held in memory, each bounded, and all of them together."""

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.call import Call

_BODIES_AT_ONCE = 16
"""That many of the largest size may be held together."""


class Uploads:
    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.most_held_bytes = limit_bytes * _BODIES_AT_ONCE
        self.held_bytes = 0

    def has_room(self, size_bytes: int) -> bool:
        """Whether a body of this size may be held: what `Upload.read` refuses otherwise, and says why."""
        return size_bytes <= self.limit_bytes and self.held_bytes + size_bytes <= self.most_held_bytes

    def held(self, call: Call) -> "Upload":
        """For `with`: the body counts as held until `let_go`, at the latest until the `with` is left."""
        return Upload(self, call)


class Upload:
    def __init__(self, all_uploads: Uploads, call: Call) -> None:
        self._all = all_uploads
        self._call = call
        self.held_bytes = 0

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def let_go(self) -> None:
        self._all.held_bytes -= self.held_bytes
        self.held_bytes = 0

    def hold_whole(self, size_bytes: int) -> None:
        """A body that was received by somebody else, and is small."""
        self.held_bytes += size_bytes
        self._all.held_bytes += size_bytes

    async def read(self) -> bytes | bytearray:
        """The whole body.

        Raises:
            Refusal: `request_body_too_large` (413), or `gateway_full` (503) when all bodies together are too much.
            ClientGone: it never came whole.
        """
        self._refuse_more_than(self._call.content_length or 0)
        self._call.door.awaits_body = True
        try:
            data, has_more = await self._call.receive()
            self._hold(len(data))
            return data if not has_more else await self._rest(bytearray(data))
        finally:
            self._call.door.awaits_body = False

    async def _rest(self, body: bytearray) -> bytearray:
        has_more = True
        while has_more:
            data, has_more = await self._call.receive()
            self._hold(len(data))
            body += data
        return body

    def _refuse_more_than(self, length: int) -> None:
        if length > self._all.limit_bytes:
            raise Refusal("request_body_too_large", status=413, limit_bytes=self._all.limit_bytes)

    def _hold(self, more_bytes: int) -> None:
        self.held_bytes += more_bytes
        self._all.held_bytes += more_bytes
        self._refuse_more_than(self.held_bytes)
        if self._all.held_bytes > self._all.most_held_bytes:
            raise Refusal("gateway_full", status=503)
