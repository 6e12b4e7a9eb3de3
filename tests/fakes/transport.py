"""A transport without a socket: keeps what is written, and remembers whether reading is paused."""

import asyncio
from collections.abc import Iterable


class FakeTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("1.2.3.4", 5), "sockname": ("127.0.0.1", 9090)})
        self.written = b""
        self.unsent_bytes = 0
        self.is_paused = False
        self.is_aborted = False
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def abort(self) -> None:
        self.is_aborted = self._is_closing = True

    def close(self) -> None:
        self._is_closing = True

    def is_closing(self) -> bool:
        return self._is_closing
