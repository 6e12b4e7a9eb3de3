"""Where a relayed request goes: a TCP address or a Unix socket."""

from functools import lru_cache
from typing import NamedTuple


class Target(NamedTuple):
    """`unix_path` wins over host and port; `host_field` is what the Host header says."""

    host: str = "127.0.0.1"
    port: int = 0
    unix_path: str | None = None

    @property
    def host_field(self) -> bytes:
        if self.unix_path is not None:
            return b"localhost"
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"{shown}:{self.port}".encode()


@lru_cache(maxsize=4096)
def parse(address: str) -> Target:
    """From host:port, [v6]:port or unix:PATH.

    Raises:
        ValueError: it is none of these.
    """
    if address.startswith("unix:"):
        return Target(unix_path=address.removeprefix("unix:"))
    host, colon, port = address.rpartition(":")
    if not colon or not host:
        raise ValueError(f"not host:port: {address}")
    return Target(host=host.removeprefix("[").removesuffix("]"), port=int(port))
