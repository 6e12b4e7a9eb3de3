"""The sockets that the supervisor binds and hands to its children: the public port and the server's Unix socket."""

import errno
import socket
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import short_unix_path

BACKLOG = 4096
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # addresses to read, not to bind


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that listens on a port. The pid is None where the system does not tell."""

    pid: int | None
    name: str


def bind_public(host: str, port: int, *, ours: Collection[int]) -> socket.socket:
    """Listen on host:port; `ours` are the pids of our own orphans, beside which we may bind.

    SO_REUSEPORT is always set, so that a later supervisor can bind beside children that outlived us; that nobody else
    listens is therefore asked first, with a socket that has it not.

    Raises:
        Refusal: `port_in_use`, `port_in_use_unknown`, `port_forbidden`, `host_unknown` or `cannot_listen`.
    """
    family, address = _resolve(host, port)
    try:
        if port and not _is_held_by(port, ours):
            _try(family, address)
        return _listen(family, address)
    except OSError as error:
        raise _refusal(error, host, port) from error


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise Refusal("host_unknown", host=host) from error
    return found[0][0], found[0][4]


def _try(family: socket.AddressFamily, address: tuple[object, ...]) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _only_v6(probe)
        probe.bind(address)
        probe.listen(1)


def _listen(family: socket.AddressFamily, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        _only_v6(listener)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _only_v6(listener: socket.socket) -> None:
    """`::` takes IPv4 too, as people expect of "all addresses"."""
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)


def _is_held_by(port: int, ours: Collection[int]) -> bool:
    found = holders(port)
    return bool(found) and all(holder.pid in ours for holder in found)


def holders(port: int) -> list[Holder]:
    """Who listens on the port, as far as this user may know."""
    try:
        connections = psutil.net_connections("tcp")
    except (psutil.Error, OSError):
        return []
    pids = {each.pid for each in connections if each.status == psutil.CONN_LISTEN and _port(each.laddr) == port}
    return [Holder(pid, _name(pid)) for pid in sorted(pids, key=lambda pid: pid or 0)]


def _port(address: tuple[object, ...]) -> object:
    return address[1] if address else None


def _name(pid: int | None) -> str:
    try:
        return psutil.Process(pid).name() if pid else ""
    except psutil.Error:
        return ""


def _refusal(error: OSError, host: str, port: int) -> Refusal:
    if error.errno == errno.EADDRINUSE:
        known = [holder for holder in holders(port) if holder.pid]
        if known:
            return Refusal("port_in_use", port=port, pid=known[0].pid, program=known[0].name, next_port=port + 1)
        return Refusal("port_in_use_unknown", port=port, next_port=port + 1)
    if error.errno == errno.EACCES:
        return Refusal("port_forbidden", port=port)
    return Refusal("cannot_listen", host=host, port=port, why=error.strerror or str(error))


def bind_server(path: Path) -> socket.socket:
    """Listen on a Unix socket that takes the place of an earlier one in one step: nobody ever finds it missing."""
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(short_unix_path(beside))
    beside.chmod(0o600)
    listener.listen(BACKLOG)
    listener.setblocking(False)
    beside.rename(path)
    return listener


def public_url(listener: socket.socket, scheme: str = "http") -> str:
    """Where a browser on this machine reaches the listener."""
    host, port = listener.getsockname()[:2]
    host = LOOPBACK.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
