"""The way from a holding to the hub that has it."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpustack_lite.errors import Refusal
from gpustack_lite.hub import sources
from gpustack_lite.hub.repository import Repositories, wanted
from gpustack_lite.wire import AssignedFiles
from worker.downloads.fetching import Stream
from worker.downloads.job import Wanted


class Hubs:
    def __init__(self, repositories: Repositories) -> None:
        self._repositories = repositories

    def wanted(self, files: AssignedFiles) -> Wanted:
        source = sources.repository(files.source)
        listing = self._repositories.list_now(source, files.revision)
        return Wanted(source.kind, source.value, listing.commit, wanted(listing, files.include, files.format))

    @contextmanager
    def open(self, files: AssignedFiles, commit: str, path: str, offset: int) -> Iterator[Stream]:
        """From the beginning where the other side knows no ranges."""
        source = sources.repository(files.source)
        try:
            with self._repositories.stream_now(source, commit, path, offset) as content:
                yield Stream(offset, content)
                return
        except Refusal as refusal:
            if refusal.code != "hub_no_ranges" or not offset:
                raise
        with self._repositories.stream_now(source, commit, path) as content:
            yield Stream(0, content)
