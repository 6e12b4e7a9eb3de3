"""Two ways to see that a process is ready: it answers, or it waits for connections on a socket of ours."""

import http.client
import os
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit


def answers(url: str, path: str = "/readyz", *, seconds: float = 1.0) -> bool:
    """Does `url` answer `path` with 200?"""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def is_accepting(pid: int, listener: socket.socket) -> bool:
    """Does the process poll this very socket? /proc/PID/fdinfo of an epoll lists the inodes it watches (proc(5)).

    Elsewhere than on Linux nobody tells, and the answer is yes.
    """
    if sys.platform != "linux":
        return True
    wanted = f"ino:{os.fstat(listener.fileno()).st_ino:x} "
    return any(wanted in text for text in _fdinfos(pid))


def _fdinfos(pid: int) -> list[str]:
    texts = []
    try:
        for path in Path(f"/proc/{pid}/fdinfo").iterdir():
            texts.append(path.read_text(encoding="ascii", errors="replace"))
    except OSError:
        return texts
    return texts
