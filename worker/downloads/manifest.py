"""What belongs to a holding, on disk: with it a worker knows what it has while no hub answers."""

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gpustack_lite.hub.repository import HubFile
from gpustack_lite.ports import Disk

log = logging.getLogger(__name__)


class Listed(msgspec.Struct, frozen=True):
    """One file. `seen` is (bytes, time of change in ns) of what was held against its hash and was right."""

    path: str
    size_bytes: int
    sha256: str | None = None
    etag: str | None = None
    seen: tuple[int, int] | None = None

    @property
    def file(self) -> HubFile:
        return HubFile(self.path, self.size_bytes, self.sha256, self.etag)


class Manifest(msgspec.Struct, frozen=True):
    source: str
    revision: str | None
    include: tuple[str, ...]
    hub: str
    repository: str
    folder: str
    commit: str
    files: tuple[Listed, ...]

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.files)

    def with_seen(self, path: str, seen: tuple[int, int] | None) -> "Manifest":
        files = tuple(msgspec.structs.replace(e, seen=seen) if e.path == path else e for e in self.files)
        return msgspec.structs.replace(self, files=files)


class Manifests:
    """One JSON file each in worker/files, named by what was asked for: two workers on one cache keep their own."""

    def __init__(self, data_dir: Path, disk: Disk) -> None:
        self._folder = data_dir / "worker" / "files"
        self._disk = disk

    def load(self, key: str) -> Manifest | None:
        return self._read(self._folder / f"{key}.json")

    def save(self, key: str, manifest: Manifest) -> None:
        self._disk.replace(self._folder / f"{key}.json", msgspec.json.encode(manifest))

    def forget(self, key: str) -> None:
        self._disk.remove(self._folder / f"{key}.json")

    def others(self, key: str, folder: str) -> Iterator[Manifest]:
        """Those that have files in the same repository's folder."""
        for name in self._disk.names(self._folder):
            if name.endswith(".json") and not name.startswith(".") and name != f"{key}.json":
                found = self._read(self._folder / name)
                if found is not None and found.folder == folder:
                    yield found

    def _read(self, path: Path) -> Manifest | None:
        content = self._disk.read(path)
        try:
            return None if content is None else msgspec.json.decode(content, type=Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            log.warning("manifest_unreadable", extra={"path": str(path)})
            return None
