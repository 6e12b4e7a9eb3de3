"""Facts of a model that lies on a hub, by ranges of its files within one deadline, and remembered by commit."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts as documents
from gpustack_lite.hub.dialects import is_commit
from gpustack_lite.hub.fetching import Deadline
from gpustack_lite.hub.listing import HubFile, Listing, first_parts, ggufs_of, parts_of, total_bytes, wanted
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.hub.shelves import OTHER_WEIGHTS, WEIGHTS, facts_of_folder, facts_of_ggufs
from gpustack_lite.hub.sources import Source
from gpustack_lite.ports import Disk

log = logging.getLogger(__name__)
T = TypeVar("T")
AT_ONCE = 12
MOST_REMEMBERED = 2000
_MOST_NAMED = 10
_READ_AHEAD_BYTES = 64 * 1024
_MOST_KEPT_BYTES = 1024**2
_AWAY = frozenset({"hub_offline", "hub_unreachable", "hub_slow", "hub_cut_short", "hub_busy", "hub_failed"})
"""What says nothing about the repository: then what was learned before still holds."""


class RemoteFacts:
    """Blocks: for threads. `folder` keeps what was learned; without one nothing is remembered."""

    def __init__(self, repositories: Repositories, disk: Disk, folder: Path | None) -> None:
        self._repositories = repositories
        self._memory = _Memory(disk, folder)

    def read(self, source: Source) -> ModelFacts:
        """`path` is empty; `revision` is the commit, `download_bytes` what all wanted files weigh.

        Raises:
            Refusal: what `Repositories.list_now`, `wanted` and the readers raise.
        """
        asked = source.revision or "-"
        if is_commit(asked) and (known := self._memory.get(source, asked)) is not None:
            return known
        deadline = self._repositories.deadline()
        try:
            listing = self._repositories.list_now(source, deadline=deadline)
            found = self._memory.get(source, listing.digest) or self._learn(source, listing, deadline)
        except Refusal as refusal:
            before = self._memory.get(source, asked) if refusal.code in _AWAY else None
            if before is None:
                raise
            log.info("hub_answer_remembered", extra={"source": source.value, "why": refusal.code})
            return before
        if "headers" not in found.unknown:
            pinned = (listing.commit,) if is_commit(listing.commit) else ()
            self._memory.keep(source, (asked, listing.digest, *pinned), found)
        return found

    def _learn(self, source: Source, listing: Listing, deadline: Deadline) -> ModelFacts:
        files = wanted(listing, source.include)
        shelf = _HubShelf(self._repositories, source, listing.commit, files, deadline)
        found = _of_ggufs(shelf, ggufs) if (ggufs := ggufs_of(files)) else _of_folder(shelf)
        weights = [each.path for each in files if each.path.endswith((".gguf", *WEIGHTS, *OTHER_WEIGHTS))]
        return replace(
            found,
            download_bytes=total_bytes(files),
            revision=listing.commit,
            files=tuple(weights[:_MOST_NAMED]),
        )


def _of_ggufs(shelf: "_HubShelf", ggufs: Sequence[HubFile]) -> ModelFacts:
    firsts = first_parts(ggufs)
    if len(firsts) != 1:
        names = ", ".join(each.path for each in (firsts or ggufs)[:_MOST_NAMED])
        raise Refusal("several_models", param="include", path=shelf.shown(), names=names)
    return facts_of_ggufs(shelf, [each.path for each in parts_of(firsts[0], ggufs)], "")


def _of_folder(shelf: "_HubShelf") -> ModelFacts:
    """Where the headers cannot be read in time, the sizes of the files are known all the same."""
    try:
        return facts_of_folder(shelf, "")
    except Refusal as refusal:
        if not shelf.has_begun_headers or refusal.code not in {*_AWAY, "hub_no_ranges"}:
            raise
    found = facts_of_folder(shelf, "", reads_headers=False)
    return replace(found, unknown=(*found.unknown, "headers"))


class _HubShelf:
    def __init__(
        self, repositories: Repositories, source: Source, commit: str, files: Sequence[HubFile], deadline: Deadline
    ) -> None:
        self._repositories = repositories
        self._source = source
        self._commit = commit
        self._files = {each.path: each for each in files}
        self._deadline = deadline
        self._begins: dict[str, bytes] = {}
        self.has_begun_headers = False

    def names(self) -> list[str]:
        return sorted(self._files)

    def shown(self, name: str = "") -> str:
        return f"{self._source.value}/{name}" if name else self._source.value

    def size(self, name: str) -> int:
        return self._files[name].size_bytes

    def read_at(self, name: str, offset: int, count: int) -> bytes:
        """The beginning of a file comes in one piece: headers say in their first bytes how long they are."""
        held = self._begins.get(name)
        if held is None and offset == 0:
            held = self._fetch(name, 0, max(count, min(_READ_AHEAD_BYTES, self.size(name))))
            self._begins[name] = held if len(held) <= _MOST_KEPT_BYTES else b""
            return held[:count]
        if held and offset + count <= len(held):
            return held[offset : offset + count]
        return self._fetch(name, offset, count)

    def each(self, read: Callable[[str], T], names: Sequence[str]) -> list[T]:
        self.has_begun_headers = True
        if len(names) < 2:
            return [read(name) for name in names]
        with ThreadPoolExecutor(min(AT_ONCE, len(names)), thread_name_prefix="hub") as pool:
            return list(pool.map(read, names))

    def _fetch(self, name: str, offset: int, count: int) -> bytes:
        wanted_count = min(count, max(0, self.size(name) - offset))
        if not wanted_count:
            return b""
        return self._repositories.read_now(
            self._source, self._commit, name, offset, wanted_count, deadline=self._deadline
        )


class _Memory:
    """One file for each answer; named by what it answers. That it cannot be written is no reason to fail."""

    def __init__(self, disk: Disk, folder: Path | None) -> None:
        self._disk = disk
        self._folder = folder

    def get(self, source: Source, at: str) -> ModelFacts | None:
        path = self._path(source, at)
        try:
            content = None if path is None else self._disk.read(path)
            return None if content is None else documents.from_document(json.loads(content))
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return None

    def keep(self, source: Source, places: Sequence[str], found: ModelFacts) -> None:
        content = json.dumps(documents.document(found)).encode()
        try:
            self._make_room()
            for path in filter(None, (self._path(source, at) for at in places)):
                self._disk.replace(path, content)
        except OSError as error:
            log.warning("hub_answer_not_kept", extra={"why": error.strerror})

    def _make_room(self) -> None:
        if self._folder is None:
            return
        for name in self._disk.names(self._folder)[MOST_REMEMBERED:]:
            self._disk.remove(self._folder / name)

    def _path(self, source: Source, at: str) -> Path | None:
        asked = json.dumps([source.kind, source.value, at, sorted(source.include)])
        return None if self._folder is None else self._folder / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"
