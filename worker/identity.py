"""Who this worker is: a uid made once per data dir, and the credential that the server gave it."""

from pathlib import Path

from pydantic import ValidationError

from gpustack_lite.ports import Ports
from gpustack_lite.wire import Joined, Wire


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
    """A file that cannot be understood is replaced: the worker then joins as a new one."""
    content = ports.disk.read(path_of(data_dir))
    if content is not None:
        try:
            return WorkerIdentity.model_validate_json(content)
        except ValidationError:
            pass
    identity = WorkerIdentity(uid=ports.randomness.unique_id())
    save(data_dir, identity, ports)
    return identity


def save(data_dir: Path, identity: WorkerIdentity, ports: Ports) -> None:
    ports.disk.replace(path_of(data_dir), identity.model_dump_json(indent=1).encode())
