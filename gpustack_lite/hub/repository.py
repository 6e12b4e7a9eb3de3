"""Repositories of Hugging Face and ModelScope, and GGUF files by URL: what they hold, and any range of any file."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.confinement import origin_of
from gpustack_lite.hub.dialects import DIALECTS, is_commit, is_safe, next_page
from gpustack_lite.hub.fetching import Answer, Deadline, Fetcher
from gpustack_lite.hub.hubs import Endpoint, Hubs
from gpustack_lite.hub.listing import PART, HubFile, Listing, wanted
from gpustack_lite.hub.sources import Source
from gpustack_lite.ports import Ports

__all__ = ["DEADLINE_SECONDS", "HubFile", "Listing", "Repositories", "wanted"]
DEADLINE_SECONDS = 10.0
LONGEST_DOCUMENT_BYTES = 32 * 1024**2
MOST_PAGES = 50
MOST_FILES = 20_000
MOST_SKIPPED_BYTES = 4 * 1024**2
"""A server that knows no ranges is read through this far at most."""
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_LONGEST_WAIT = 3600


class Repositories:
    """The methods named `_now` block, for threads; the others are the same for an event loop.

    All raise Refusal: `hub_*`, of which docs/sources.md has the list.
    """

    def __init__(self, hubs: Hubs, ports: Ports) -> None:
        self._hubs = hubs
        self._ports = ports
        self._fetcher = Fetcher(hubs, ports)

    @property
    def offline(self) -> bool:
        return self._hubs.offline

    def deadline(self, seconds: float = DEADLINE_SECONDS) -> Deadline:
        return Deadline(self._ports, seconds)

    async def list(self, source: Source, revision: str | None = None) -> Listing:
        return await asyncio.to_thread(self.list_now, source, revision)

    async def read(self, source: Source, commit: str, path: str, offset: int, count: int) -> bytes:
        return await asyncio.to_thread(self.read_now, source, commit, path, offset, count)

    def list_now(self, source: Source, revision: str | None = None, deadline: Deadline | None = None) -> Listing:
        """`revision` is a branch, a tag or a commit; where it is None the source's own, else the hub's usual branch."""
        until = deadline or self.deadline()
        if source.kind == "url":
            return self._list_url(source, until)
        dialect, endpoint = DIALECTS[source.kind], self._hubs.endpoint(source.kind)
        asked = revision or source.revision or dialect.usual_revision
        commit_url = None if is_commit(asked) else dialect.commit_url(endpoint.url, source.value, asked)
        commit = asked
        if commit_url is not None:
            commit = dialect.commit_of(self._json(commit_url, source, endpoint, until)[0], asked)
        pages = list(self._pages(dialect.listing_url(endpoint.url, source.value, commit), source, endpoint, until))
        commit = commit if commit_url is not None or is_commit(asked) else dialect.commit_of(pages[0], asked)
        files = (each for page in pages for each in dialect.files_of(page) if is_safe(each.path))
        return _listing(commit, files, source)

    def read_now(
        self, source: Source, commit: str, path: str, offset: int, count: int, *, deadline: Deadline | None = None
    ) -> bytes:
        """Fewer bytes than asked for at the end of the file only."""
        with self._opened(source, commit, path, (offset, count), deadline or self.deadline()) as answer:
            if answer.status == 416:
                return b""
            skipped = 0 if answer.status == 206 else offset
            content = _bounded(answer, skipped + count, is_cut=answer.status != 206)
        return content[skipped:]

    @contextmanager
    def stream_now(self, source: Source, commit: str, path: str, offset: int = 0) -> Iterator[Iterator[bytes]]:
        """The file from `offset` on, in chunks; no deadline but that of each wait."""
        with self._opened(source, commit, path, (offset, None), None) as answer:
            if answer.status == 416:
                yield iter(())
            elif offset and answer.status != 206:
                raise Refusal("hub_no_ranges", status=502, param="source", host=answer.host, path=path)
            else:
                yield answer.content

    def close(self) -> None:
        self._fetcher.close()

    @contextmanager
    def _opened(
        self, source: Source, commit: str, path: str, span: tuple[int, int | None], deadline: Deadline | None
    ) -> Iterator[Answer]:
        offset, count = span
        last = "" if count is None else offset + count - 1
        url, endpoint = self._file_url(source, commit, path), self._endpoint(source)
        headers = {"Range": f"bytes={offset}-{last}"} if offset or count is not None else {}
        with self._fetcher.get(url, endpoint=endpoint, headers=headers, deadline=deadline) as answer:
            if answer.status not in {200, 206, 416}:
                raise refusal_of(answer, source, path)
            if answer.status == 206 and _begin(answer) != offset:
                raise Refusal("hub_no_ranges", status=502, param="source", host=answer.host, path=path)
            if answer.status == 200 and offset > MOST_SKIPPED_BYTES and count is not None:
                raise Refusal("hub_no_ranges", status=502, param="source", host=answer.host, path=path)
            yield answer

    def _endpoint(self, source: Source) -> Endpoint | None:
        return None if source.kind == "url" else self._hubs.endpoint(source.kind)

    def _file_url(self, source: Source, commit: str, path: str) -> str:
        if source.kind == "url":
            return urljoin(self._allowed_url(source), path)
        endpoint = self._hubs.endpoint(source.kind)
        return DIALECTS[source.kind].file_url(endpoint.url, source.value, commit, path)

    def _allowed_url(self, source: Source) -> str:
        origin = origin_of(source.value)
        if origin not in self._hubs.url_hosts:
            allowed = ", ".join(each.host for each in self._hubs.url_hosts) or "-"
            raise Refusal("url_host_not_allowed", status=403, param="source", host=origin.host, allowed=allowed)
        return source.value

    def _list_url(self, source: Source, deadline: Deadline) -> Listing:
        """The file, or all parts where its name says that it was split. The commit is the first one's ETag."""
        first = urlsplit(self._allowed_url(source)).path.rpartition("/")[2]
        files = [self._head(source, name, deadline) for name in _part_names(first)]
        return _listing(files[0].etag or "-", files, source)

    def _head(self, source: Source, name: str, deadline: Deadline) -> HubFile:
        """By a range of one byte: signed addresses often allow nothing but GET."""
        with self._opened(source, "", name, (0, 1), deadline) as answer:
            match = _RANGE.fullmatch(answer.headers.get("content-range", ""))
            said = match[3] if match else answer.headers.get("content-length", "")
            if not said.isdigit():
                raise Refusal("hub_answer_odd", status=502, param="source", host=answer.host)
            return HubFile(name, int(said), None, answer.headers.get("etag", "").strip('"') or None)

    def _pages(self, url: str, source: Source, endpoint: Endpoint, deadline: Deadline) -> Iterator[Any]:
        for _ in range(MOST_PAGES):
            document, headers = self._json(url, source, endpoint, deadline)
            yield document
            following = next_page(headers.get("link"))
            if following is None:
                return
            url = urljoin(url, following)

    def _json(self, url: str, source: Source, endpoint: Endpoint, deadline: Deadline) -> tuple[Any, Mapping[str, str]]:
        with self._fetcher.get(url, endpoint=endpoint, deadline=deadline) as answer:
            if answer.status != 200:
                raise refusal_of(answer, source)
            content = _bounded(answer, LONGEST_DOCUMENT_BYTES)
        try:
            return json.loads(content), answer.headers
        except (ValueError, RecursionError) as error:
            raise Refusal("hub_answer_odd", status=502, param="source", host=answer.host) from error


def refusal_of(answer: Answer, source: Source, path: str | None = None) -> Refusal:
    """Why a hub gave something else than what was asked for."""
    about: dict[str, Any] = {"param": "source", "source": source.value, "host": answer.host}
    code = answer.headers.get("x-error-code", "")
    if code == "GatedRepo" or (answer.status == 403 and source.kind == "huggingface"):
        return Refusal("hub_gated", status=403, **about)
    if answer.status in {401, 403}:
        return Refusal("hub_needs_token", status=403, **about)
    if answer.status == 404:
        return _missing(code, source, path, about)
    if answer.status == 429:
        seconds = answer.headers.get("retry-after", "")
        wait = min(int(seconds), _LONGEST_WAIT) if seconds.isdigit() else None
        return Refusal("hub_busy", status=503, seconds=wait, **about)
    return Refusal("hub_failed", status=502, answer_status=answer.status, **about)


def _missing(code: str, source: Source, path: str | None, about: dict[str, Any]) -> Refusal:
    if code == "RevisionNotFound":
        return Refusal("hub_revision_missing", status=404, revision=source.revision or "-", **about)
    if path is not None or code == "EntryNotFound":
        return Refusal("hub_file_missing", status=404, path=path or "?", **about)
    return Refusal("hub_repository_missing", status=404, **about)


def _listing(commit: str, files: Any, source: Source) -> Listing:
    found = tuple(sorted(files, key=lambda each: each.path))
    if not found:
        raise Refusal("hub_repository_empty", status=404, param="source", source=source.value)
    if len(found) > MOST_FILES:
        raise Refusal("hub_too_many_files", param="source", source=source.value, most=MOST_FILES)
    return Listing(commit, found)


def _part_names(first: str) -> list[str]:
    match = PART.match(first)
    if match is None or not 0 < int(match["count"]) <= 1000:
        return [first]
    count = int(match["count"])
    return [f"{match['stem']}-{number:05}-of-{match['count']}.gguf" for number in range(1, count + 1)]


def _begin(answer: Answer) -> int | None:
    match = _RANGE.fullmatch(answer.headers.get("content-range", ""))
    return int(match[1]) if match else None


def _bounded(answer: Answer, most_bytes: int, *, is_cut: bool = False) -> bytes:
    """With `is_cut` what is longer is left unread; else that is refused."""
    content = bytearray()
    for chunk in answer.content:
        content += chunk
        if len(content) > most_bytes and not is_cut:
            raise Refusal("hub_answer_odd", status=502, param="source", host=answer.host)
        if len(content) >= most_bytes and is_cut:
            break
    return bytes(content[:most_bytes])
