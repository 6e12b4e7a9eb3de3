"""What of a holding lies on the disk, and what does not. Blocks: for threads, several of which may look at once."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from worker.downloads import digest, removing
from worker.downloads.adopting import Cache, candidates
from worker.downloads.fetching import Spot
from worker.downloads.manifest import Listed, Manifest, Manifests
from worker.downloads.names import Expected, blob_of, commit_of, expected_of, handed_out
from worker.downloads.shelf import Shelf, regular

log = logging.getLogger(__name__)


class Contents:
    """`done` is how many bytes are there of each file, beginnings included."""

    def __init__(self, root_of: Callable[[str], Path], manifests: Manifests, key: str) -> None:
        self._root_of = root_of
        self._manifests = manifests
        self._key = key
        self._writing = threading.Lock()
        self.manifest: Manifest | None = None
        self.done: dict[str, int] = {}

    def load(self) -> Manifest | None:
        """As it was asked for before: what a branch was then stays what is held."""
        self.manifest = self.manifest or self._manifests.load(self._key)
        return self.manifest

    def take(self, manifest: Manifest) -> None:
        with self._writing:
            self.manifest = manifest
            self._manifests.save(self._key, manifest)

    @property
    def known(self) -> Manifest:
        """Raises:
        LookupError: nobody has asked a hub yet.
        """
        if self.manifest is None:
            raise LookupError(self._key)
        return self.manifest

    @property
    def shelf(self) -> Shelf:
        return Shelf(self._root_of(self.known.hub), self.known.folder, commit_of(self.known.commit))

    @property
    def path(self) -> Path:
        """What an engine is told."""
        return self.shelf.snapshot / handed_out([each.path for each in self.known.files])

    def done_bytes(self) -> int:
        return sum(self.done.values())

    # --- what is there

    def lacking(self) -> list[Listed]:
        """What is not there, or is not what it was: a file that was changed meanwhile is held against its hash."""
        return [each for each in self.known.files if not self._is_there(each)]

    def _is_there(self, listed: Listed) -> bool:
        link = self.shelf.link(listed.path)
        found = regular(link)
        if found is None or found.st_size != listed.size_bytes:
            return False
        now = (found.st_size, found.st_mtime_ns)
        if listed.seen != now:
            if not digest.is_right(link, self.expected(listed)):
                return False
            self._mark(listed.path, now)
        return True

    def count(self, lacking: Sequence[Listed]) -> None:
        self.done = {each.path: each.size_bytes for each in self.known.files}
        for each in lacking:
            self.count_one(each)

    def count_one(self, listed: Listed) -> None:
        partial = regular(self.spot(listed).partial)
        self.done[listed.path] = 0 if partial is None else min(partial.st_size, listed.size_bytes)

    def rest_bytes(self) -> int:
        return self.known.size_bytes - self.done_bytes()

    def expected(self, listed: Listed) -> Expected:
        return expected_of(listed.file, self.known.hub)

    def spot(self, listed: Listed) -> Spot:
        name = blob_of(listed.file, self.known.commit, self.known.hub)
        return Spot(self.shelf.partial(name), self.shelf.blob(name), self.shelf.lock(name), listed.path)

    # --- what becomes of it

    def adopt(self, listed: Listed, copies: Sequence[Path]) -> None:
        """The first that is right is used where it is."""
        right = next((each for each in copies if digest.is_right(each, self.expected(listed))), None)
        if right is not None:
            log.info("file_adopted", extra={"path": str(right)})
            self.arrived(listed, right)

    def copies(self, listed: Listed, caches: Sequence[Cache]) -> list[Path]:
        """As long as it must be: of another program, or a blob that another row or revision has."""
        expected, manifest = self.expected(listed), self.known
        if expected.kind == "size":
            return []  # another file may be as long
        folders = candidates(caches, manifest.hub, manifest.repository, commit_of(manifest.commit))
        found = [self.spot(listed).blob, *(folder / listed.path for folder in folders)]
        return [each.resolve() for each in found if (there := regular(each)) and there.st_size == expected.size_bytes]

    def arrived(self, listed: Listed, target: Path) -> None:
        self.shelf.put_link(listed.path, target)
        found = target.stat()
        self._mark(listed.path, (found.st_size, found.st_mtime_ns))
        self.done[listed.path] = listed.size_bytes

    def _mark(self, path: str, seen: tuple[int, int]) -> None:
        with self._writing:
            self.manifest = self.known.with_seen(path, seen)
            self._manifests.save(self._key, self.manifest)

    def remove(self) -> None:
        """Raises:
        OSError: the disk says no.
        """
        if self.load() is not None:
            others = self._manifests.others(self._key, self.known.folder)
            removing.remove(self.shelf, self.known, others)
            self._manifests.forget(self._key)
        self.manifest, self.done = None, {}
