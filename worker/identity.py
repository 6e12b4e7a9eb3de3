"""Who this worker is: a uid made once per data dir, and the credential that the server gave it."""

import re
from pathlib import Path

from pydantic import ValidationError

from gpustack_lite.ports import Ports
from gpustack_lite.wire import Joined, Wire

_UID = re.compile(r"[A-Za-z0-9-]{8,64}")


class WorkerIdentity(Wire):
    """Kept in worker/identity.json (0600), because it holds the credential."""

    uid: str
    name: str = ""
    credential: str | None = None
    worker_id: int | None = None

    def after(self, joined: Joined) -> "WorkerIdentity":
        return WorkerIdentity(uid=self.uid, name=joined.name, credential=joined.credential, worker_id=joined.worker_id)


def path_of(data_dir: Path) -> Path:
    return data_dir / "worker" / "identity.json"


def load_or_make(data_dir: Path, ports: Ports) -> WorkerIdentity:
    """What cannot be understood is replaced: the worker then joins again, under the uid that its engines bear."""
    content = ports.disk.read(path_of(data_dir))
    identity = None if content is None else _understood(content)
    if identity is None:
        identity = WorkerIdentity(uid=_kept_uid(data_dir, ports) or ports.randomness.unique_id())
        save(data_dir, identity, ports)
    if _kept_uid(data_dir, ports) != identity.uid:
        ports.disk.replace(_uid_path(data_dir), identity.uid.encode())
    return identity


def _understood(content: bytes) -> WorkerIdentity | None:
    try:
        return WorkerIdentity.model_validate_json(content)
    except ValidationError:
        return None


def _uid_path(data_dir: Path) -> Path:
    """Written once and never again, unlike the identity: without the uid nobody would find the engines that run."""
    return data_dir / "worker" / "uid"


def _kept_uid(data_dir: Path, ports: Ports) -> str | None:
    kept = (ports.disk.read(_uid_path(data_dir)) or b"").decode("ascii", "replace")
    return kept if _UID.fullmatch(kept) else None


def save(data_dir: Path, identity: WorkerIdentity, ports: Ports) -> None:
    ports.disk.replace(path_of(data_dir), identity.model_dump_json(indent=1).encode())
