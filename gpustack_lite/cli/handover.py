"""What survives when the supervisor executes the installed code anew: its pid, its lock and its sockets."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from gpustack_lite.cli import wakeup
from gpustack_lite.cli.family import Family
from gpustack_lite.errors import Refusal

VARIABLE = "GPUSTACK_LITE_HANDOVER"
CHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Handover:
    """Descriptors that a new image of the same process finds open. The sockets are None for a worker alone."""

    lock: int
    public: int | None = None
    server: int | None = None
    tls: int | None = None

    @property
    def descriptors(self) -> list[int]:
        return [fd for fd in (self.lock, self.public, self.server, self.tls) if fd is not None]


def receive() -> Handover | None:
    """What an earlier image of this very process left, once."""
    document = os.environ.pop(VARIABLE, None)
    if document is None:
        return None
    given = json.loads(document)
    if given.pop("pid") != os.getpid():
        return None
    handover = Handover(**given)
    for descriptor in handover.descriptors:
        os.set_inheritable(descriptor, False)
    return handover


def execute(argv: Sequence[str], handover: Handover) -> None:
    """Become `argv`. Returns only when that is impossible, with an OSError."""
    wakeup.block()
    for descriptor in handover.descriptors:
        os.set_inheritable(descriptor, True)
    document = {"pid": os.getpid(), **asdict(handover)}
    try:
        os.execve(argv[0], list(argv), {**os.environ, VARIABLE: json.dumps(document)})  # noqa: S606
    finally:
        for descriptor in handover.descriptors:
            os.set_inheritable(descriptor, False)
        wakeup.unblock()


def check_code(family: Family) -> None:
    """Raises Refusal `new_code_broken` when what is installed now cannot even be loaded."""
    try:
        done = family.ports.processes.run(
            [*family.program, "check"], env=family.environment("check"), timeout=CHECK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal("new_code_broken", why=str(error)) from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise Refusal("new_code_broken", why=last[0])


def listener(descriptor: int) -> socket.socket:
    return socket.socket(fileno=descriptor)


def same_command(arguments: Sequence[str]) -> list[str]:
    """How this process is started again from the code that is installed now."""
    return [sys.executable, "-P", "-m", "gpustack_lite.cli", *arguments]
