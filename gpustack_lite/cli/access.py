"""Which server a command talks to, and as whom.

The environment (a server, or a data directory whose platform runs), else what `login` stored, else this machine's own.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs

from gpustack_lite.cli import record
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import language_of_terminal
from gpustack_lite.ports import Ports


@dataclass(frozen=True, slots=True)
class Access:
    """`origin` "local" means the supervisor's own credential, which serves /api only."""

    url: str
    token: str | None
    origin: Literal["environment", "login", "local"]

    def client(self) -> Client:
        return Client(self.url, self.token, language=language_of_terminal())


def find(ports: Ports) -> Access:
    """Raises Refusal `no_server_known` or `server_not_running`."""
    url, key = os.environ.get("GPUSTACK_LITE_SERVER"), os.environ.get("GPUSTACK_LITE_API_KEY")
    if url and key:
        return Access(url, key, "environment")
    known = named(ports) or stored(ports) or local(ports, own_data_dir())
    if url and (known is None or known.url.rstrip("/") != url.rstrip("/")):
        return Access(url, key, "environment")
    if known is None:
        raise Refusal("no_server_known", path=str(own_data_dir()))
    return known if key is None else Access(known.url, key, "environment")


def named(ports: Ports) -> Access | None:
    """The platform of the data directory that the environment names, if it runs."""
    given = os.environ.get("GPUSTACK_LITE_DATA_DIR")
    try:
        return local(ports, Path(given)) if given else None
    except Refusal:
        return None


def connect() -> Client:
    return find(Ports()).client()


def local(ports: Ports, data_dir: Path) -> Access | None:
    """The platform of a data directory, to whom may read it."""
    try:
        now = record.read(ports.disk, data_dir / "run" / "supervisor.json")
        token = ports.disk.read(data_dir / "run" / "cli_token")
    except PermissionError:
        return None
    if token is None:
        return None
    if now is None or not any(map(ports.processes.is_alive, (now.supervisor, *now.processes))):
        raise Refusal("server_not_running", path=str(data_dir))
    return Access(now.url, token.decode().strip(), "local")


def own_data_dir() -> Path:
    if given := os.environ.get("GPUSTACK_LITE_DATA_DIR"):
        return Path(given)
    from gpustack_lite.settings import default_data_dir

    return default_data_dir()


def credentials_path() -> Path:
    return Path(platformdirs.user_config_dir("gpustack-lite", appauthor=False)) / "credentials.json"


def stored(ports: Ports) -> Access | None:
    try:
        document = json.loads(ports.disk.read(credentials_path()) or b"null")
        return None if document is None else Access(str(document["url"]), str(document["token"]), "login")
    except (ValueError, KeyError, TypeError, PermissionError) as error:
        raise Refusal("credentials_unreadable", path=str(credentials_path())) from error


def store(ports: Ports, url: str, token: str) -> None:
    path = credentials_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ports.disk.replace(path, json.dumps({"url": url, "token": token}).encode(), 0o600)
