"""Every socket that a running platform listens on is in the table, with its address and its guard."""

import os
import re
import socket
import stat
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
import pytest

from scripts.security_surface import SOCKETS, Role, Socket
from tests.harness import Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
_LISTENING = 0x10000
"""__SO_ACCEPTCON of a Unix socket (net/unix/af_unix.c), as /proc/net/unix shows flags."""


class Found(NamedTuple):
    role: Role
    kind: str
    address: str


def roles(platform: Platform) -> dict[int, Role]:
    found: dict[int, Role] = {platform.supervisor_pid: "supervisor"}
    for name, role in (("server", "server"), ("gateway-0", "gateway"), ("worker", "worker")):
        pid = platform.pid(name)
        assert pid is not None
        found[pid] = role  # type: ignore[assignment]
    for instance in platform.instances("doors"):
        engine = psutil.Process(instance["pid"])
        found |= dict.fromkeys([engine.pid, *(each.pid for each in engine.children(recursive=True))], "engine")
    everyone = {platform.supervisor_pid, *platform.processes()}
    assert everyone <= found.keys(), "a process that is no role"
    return found


def listening(platform: Platform) -> set[Found]:
    return {each for pid, role in roles(platform).items() for each in (*_tcp(pid, role), *_unix(pid, role))}


def _tcp(pid: int, role: Role) -> list[Found]:
    """UDP too: a bound datagram socket listens, whatever it is called."""
    held = psutil.Process(pid).net_connections(kind="inet")
    return [
        Found(role, "tcp" if each.type == socket.SOCK_STREAM else "udp", f"{each.laddr[0]}:{each.laddr[1]}")
        for each in held
        if each.status == psutil.CONN_LISTEN or each.type == socket.SOCK_DGRAM
    ]


def _unix(pid: int, role: Role) -> list[Found]:
    inodes = {match[1] for link in _links(pid) if (match := re.fullmatch(r"socket:\[([0-9]+)\]", link))}
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    named = [row for row in rows if row[6] in inodes and int(row[3], 16) & _LISTENING]
    return [Found(role, "unix", row[7] if len(row) > 7 else "") for row in named]


def _links(pid: int) -> list[str]:
    return [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()]


def row_of(found: Found, data_dir: Path) -> Socket | None:
    address = found.address.removeprefix(f"{data_dir}/")
    return next(
        (
            each
            for each in SOCKETS
            if (each.role, each.kind) == (found.role, found.kind) and re.fullmatch(each.address, address)
        ),
        None,
    )


def test_every_listening_socket_is_in_the_table(platform: Platform) -> None:
    found = listening(platform)
    assert {each for each in found if row_of(each, platform.data_dir) is None} == set()
    assert {each.role for each in found} >= {"gateway", "server", "engine"}


def test_a_socket_that_is_in_no_table_would_be_seen(platform: Platform) -> None:
    """The test's own eyes: what this process opens is found, and is in no row."""
    with socket.create_server(("127.0.0.1", 0)) as strange:
        port = strange.getsockname()[1]
        (found,) = [each for each in _tcp(os.getpid(), "worker") if each.address.endswith(f":{port}")]
    assert row_of(found, platform.data_dir) is None


def test_a_worker_listens_on_nothing(platform: Platform) -> None:
    assert {each for each in listening(platform) if each.role == "worker"} == set()


def test_a_socket_in_the_file_system_is_for_its_owner_alone(platform: Platform) -> None:
    for each in listening(platform):
        if each.kind == "unix":
            row, path = row_of(each, platform.data_dir), Path(each.address.removesuffix(".new"))
            assert row is not None
            assert stat.S_IMODE(path.stat().st_mode) == row.mode
            assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0


def test_an_engine_answers_nobody_without_its_key(platform: Platform) -> None:
    (instance,) = platform.instances("doors")
    url = f"http://127.0.0.1:{instance['port']}/v1/chat/completions"
    body = {"model": "doors", "messages": [{"role": "user", "content": "a"}]}
    for headers in ({}, {"Authorization": f"Bearer {platform.key()}"}):
        assert httpx.post(url, json=body, headers=headers, trust_env=False).status_code == 401
