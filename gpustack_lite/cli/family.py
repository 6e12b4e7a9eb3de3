"""How a role becomes a process: its arguments, its environment, the descriptors it inherits and its log file."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from gpustack_lite.cli.datadir import DataDir
from gpustack_lite.cli.rotation import rotate
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.settings import Settings

CHILD_PROGRAM = (sys.executable, "-P", "-m", "gpustack_lite.cli.child")
MARK = "GPUSTACK_LITE_FAMILY"
"""Set to the data directory's own `family` secret in every child, and in nothing else."""
SERVERS_OWN = {
    "GPUSTACK_LITE_SECRET_KEY": "secret_key",
    "GPUSTACK_LITE_OIDC_CLIENT_SECRET": "oidc_client_secret",
}
"""Variable -> setting, of secrets that no other child is told."""
PRIVATE = ("GPUSTACK_LITE_HANDOVER", "GPUSTACK_LITE_TOKEN", "GPUSTACK_LITE_API_KEY", "GPUSTACK_LITE_SERVER")
LOG_BYTES = 16 * 1024**2
LOGS_KEPT = 3


@dataclass(frozen=True, slots=True)
class Family:
    """Everything that the children of one data directory have in common."""

    settings: Settings
    data_dir: DataDir
    ports: Ports
    roles: tuple[str, ...]
    listen_fd: int | None = None
    server_fd: int | None = None
    tls_fd: int | None = None
    server_url: str | None = None
    join_token_file: Path | None = None
    program: Sequence[str] = CHILD_PROGRAM

    def spawn(self, role: str) -> Identity:
        """Raises OSError when the program cannot be started."""
        self.rotate_log(role)
        given = (self._listen_fd(role), self._tls_fd(role), self._server_fd(role))
        descriptors = [fd for fd in given if fd is not None]
        return self.ports.processes.spawn(
            [*self.program, kind_of(role)],
            env=self.environment(role),
            output=self.log_path(role),
            pass_fds=descriptors,
            umask=0o077,
        )

    def log_path(self, role: str) -> Path:
        return self.data_dir.logs / f"{role}.log"

    def rotate_log(self, role: str) -> None:
        rotate(self.log_path(role), limit_bytes=LOG_BYTES, kept=LOGS_KEPT)

    def marked(self) -> list[Identity]:
        """Every living child of this data directory, whoever started it."""
        mark = self.data_dir.secret("family", self.ports)
        return [each for each in self.ports.processes.marked(MARK, mark) if self.ports.processes.is_alive(each)]

    def environment(self, role: str) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if key not in (*PRIVATE, *SERVERS_OWN)}
        own = {MARK: self.data_dir.secret("family", self.ports), "GPUSTACK_LITE_CHILD": json.dumps(self._told(role))}
        return inherited | settings_environment(self.settings) | self._secrets(role) | own

    def _secrets(self, role: str) -> dict[str, str]:
        """The key that secrets are sealed with and the secret for an identity provider are the server's alone."""
        if kind_of(role) != "server":
            return {}
        given = {name: getattr(self.settings, setting) for name, setting in SERVERS_OWN.items()}
        return {name: secret.get_secret_value() for name, secret in given.items() if secret is not None}

    def _told(self, role: str) -> Mapping[str, object]:
        return {
            "data_dir": str(self.data_dir.root),
            "listen_fd": self._listen_fd(role),
            "tls_fd": self._tls_fd(role),
            "server_fd": self._server_fd(role),
            "server_socket": None if self.server_url else str(self.data_dir.server_socket),
            "index": index_of(role),
            "server_url": self.server_url,
            "join_token_file": None if self.join_token_file is None else str(self.join_token_file),
        }

    def _listen_fd(self, role: str) -> int | None:
        return self.listen_fd if kind_of(role) == "gateway" else None

    def _tls_fd(self, role: str) -> int | None:
        return self.tls_fd if kind_of(role) == "gateway" else None

    def _server_fd(self, role: str) -> int | None:
        return self.server_fd if kind_of(role) == "server" else None


def kind_of(role: str) -> str:
    """ "gateway-1" -> "gateway"."""
    return role.partition("-")[0]


def index_of(role: str) -> int:
    return int(role.partition("-")[2] or 0)


def settings_environment(settings: Settings) -> dict[str, str]:
    """The settings as GPUSTACK_LITE_* variables, as pydantic-settings reads them: JSON for whatever is no scalar.

    Without what is secret, which a dump writes as asterisks.
    """
    return {
        f"GPUSTACK_LITE_{name.upper()}": _as_text(value)
        for name, value in settings.model_dump(mode="json").items()
        if value is not None and not isinstance(getattr(settings, name), SecretStr)
    }


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
