"""Chooses the port of an engine: free by trial on every address it could clash on, and in nobody's hands of ours."""

import errno
import logging
import re
import socket
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from gpustack_lite.errors import Refusal

log = logging.getLogger(__name__)
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_RANGE = re.compile(r"^\s*(\d{1,5})\s*-\s*(\d{1,5})\s*$")


def parse_range(text: str) -> range:
    """ "21000-21999" -> range(21000, 22000).

    Raises:
        Refusal: `bad_engine_ports`.
    """
    match = _RANGE.match(text)
    if match is None:
        raise Refusal("bad_engine_ports", value=text[:100])
    first, last = int(match[1]), int(match[2])
    if not 1024 <= first <= last <= 65535:
        raise Refusal("bad_engine_ports", value=text[:100])
    return range(first, last + 1)


def overlap(ours: range, ephemeral: str) -> tuple[int, int] | None:
    """The ports of `ours` that the kernel also gives to outgoing connections, as (first, last)."""
    low, high = (int(part) for part in ephemeral.split()[:2])
    first, last = max(ours.start, low), min(ours.stop - 1, high)
    return (first, last) if first <= last else None


def warn_about_overlap(ours: range) -> None:
    try:
        both = overlap(ours, EPHEMERAL.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return
    if both is not None:
        log.warning("engine_ports_overlap_ephemeral", extra={"first": both[0], "last": both[1]})


def is_free(port: int) -> bool:
    """Whether an engine could listen there: bound without SO_REUSEADDR, so that TIME_WAIT counts as taken."""
    return all(
        _can_bind(family, host, port)
        for family, host in (
            (socket.AF_INET, "127.0.0.1"),
            (socket.AF_INET, "0.0.0.0"),  # noqa: S104  # tried and closed again; engines listen on loopback only
            (socket.AF_INET6, "::1"),
        )
    )


def _can_bind(family: socket.AddressFamily, host: str, port: int) -> bool:
    try:
        with closing(socket.socket(family, socket.SOCK_STREAM)) as trial:
            trial.bind((host, port))
    except OSError as error:
        return error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
    return True


class PortRange:
    """Ports of one worker. A port goes round the whole range before it is used again."""

    def __init__(self, ports: range, test: Callable[[int], bool] = is_free) -> None:
        self._ports = ports
        self._test = test
        self._taken: set[int] = set()
        self._next = 0

    def take(self) -> int:
        """Raises:
        Refusal: `no_free_engine_port`.
        """
        for offset in range(len(self._ports)):
            port = self._ports[(self._next + offset) % len(self._ports)]
            if port not in self._taken and self._test(port):
                self._next = (self._next + offset + 1) % len(self._ports)
                self._taken.add(port)
                return port
        raise Refusal("no_free_engine_port", first=self._ports.start, last=self._ports.stop - 1)

    def take_several(self, count: int) -> tuple[int, ...]:
        """All or none.

        Raises:
            Refusal: `no_free_engine_port`.
        """
        taken: list[int] = []
        try:
            while len(taken) < count:
                taken.append(self.take())
        except Refusal:
            for port in taken:
                self.give_back(port)
            raise
        return tuple(taken)

    def keep(self, ports: Iterable[int]) -> None:
        """Engines that were adopted hold these."""
        self._taken.update(ports)

    def give_back(self, port: int) -> None:
        self._taken.discard(port)
