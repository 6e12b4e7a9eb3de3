"""The data directory as the supervisor prepares it: folders, secrets, the lock that only one supervisor can hold."""

import fcntl
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports

SECRETS = ("gateway_token", "local_join_token", "cli_token", "family")
"""`family` marks the processes of this data directory, so that none of them can be missed or mistaken."""

_SECRET = re.compile(rb"\s*[\x21-\x7e]{16,}\s*")
_FOLDERS = ("run", "gateway", "worker", "worker/instances")


@dataclass(frozen=True, slots=True)
class DataDir:
    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def record(self) -> Path:
        return self.run / "supervisor.json"

    @property
    def server_socket(self) -> Path:
        return self.run / "server.sock"

    @property
    def password_file(self) -> Path:
        return self.root / "initial_admin_password"

    def secret(self, name: str, ports: Ports) -> str:
        return (ports.disk.read(self.run / name) or b"").decode("ascii", "ignore").strip()


def prepare(root: Path, ports: Ports) -> DataDir:
    """Make what is missing; what a person made before keeps its mode.

    Raises:
        Refusal: `data_dir_unusable`.
    """
    data_dir = DataDir(root.expanduser().resolve())
    try:
        data_dir.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (data_dir.run, data_dir.logs):
            folder.mkdir(mode=0o700, exist_ok=True)
        for name in SECRETS:
            _make_secret(data_dir.run / name, ports)
        _forget_half_written(data_dir.root, ports)
    except OSError as error:
        raise Refusal("data_dir_unusable", path=str(data_dir.root), why=error.strerror or str(error)) from error
    return data_dir


def _forget_half_written(root: Path, ports: Ports) -> None:
    """A process that was killed while it replaced a file leaves the new one beside it, under its pid."""
    for folder in (root, *(root / name for name in _FOLDERS)):
        for path in folder.glob(".*.new"):
            writer = path.name.split(".")[-2]
            if writer.isdigit() and ports.processes.identify(int(writer)) is None:
                path.unlink(missing_ok=True)


def _make_secret(path: Path, ports: Ports) -> None:
    """A secret that is cut or overwritten would be known to nobody, or to everybody."""
    if not _SECRET.fullmatch(ports.disk.read(path) or b""):
        ports.disk.replace(path, ports.randomness.token(32).encode())


def lock(data_dir: DataDir) -> int | None:
    """A descriptor that holds the supervisor's lock for as long as it is open, or None when another one has it."""
    descriptor = os.open(data_dir.run / "supervisor.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
