"""The account of requests that reached an engine: one row each, however they ended."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from gpustack_lite.domain import Usage
from gpustack_lite.gateway.limits import UNLIMITED, Hold
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.ports import Clock
from gpustack_lite.wire import Credential, UsageRow

log = logging.getLogger(__name__)
MOST_ROWS = 100_000
"""In memory, while the disk takes none."""
CLIENT_GONE = 499
"""nginx's status for a client that left; no client ever sees it."""


@dataclass(slots=True)
class Entry:
    """Filled while the request runs. Without an `instance_id` no engine saw it, and there is no row."""

    request_id: str
    credential: Credential
    model: str
    path: str
    started_at: datetime
    started: float
    instance_id: int | None = None
    first_content: float | None = None
    status: int = CLIENT_GONE
    cause: str | None = "client_gone"
    usage: Usage | None = None
    events: EventFilter | None = None
    hold: Hold = UNLIMITED
    public_name: str | None = None
    is_stream: bool = False
    queued_seconds: float | None = None
    audio_seconds: float | None = None
    images: int | None = None

    @property
    def tokens(self) -> int | None:
        """All of them, as far as the engine has said."""
        usage = self.usage or (self.events.usage if self.events else None)
        return None if usage is None else (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)

    def end(self, status: int, cause: str | None = None) -> None:
        self.status = status
        self.cause = cause

    def note_content(self, now: float) -> None:
        if self.first_content is None and self.events is not None and self.events.content_frames:
            self.first_content = now

    def row(self, now: float) -> UsageRow:
        usage = self.usage or (self.events.usage if self.events else None)
        is_partial = usage is None and self.events is not None and (self.cause is not None)
        counted = self.events.content_frames if self.events is not None and self.cause is not None else None
        return UsageRow(
            request_id=self.request_id,
            key_id=self.credential.id if self.credential.kind == "key" else None,
            user_id=self.credential.user_id,
            model=self.model,
            instance_id=self.instance_id,
            path=self.path,
            started_at=self.started_at,
            seconds=round(now - self.started, 6),
            ttft_seconds=None if self.first_content is None else round(self.first_content - self.started, 6),
            status=self.status,
            cause=self.cause,
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else counted,
            cached_tokens=usage.cached_tokens if usage else None,
            reasoning_tokens=usage.reasoning_tokens if usage else None,
            partial=is_partial or self.status == CLIENT_GONE,
            public_name=self.public_name,
            is_stream=self.is_stream,
            queued_seconds=self.queued_seconds,
            audio_seconds=self.audio_seconds,
            images=self.images,
        )


@dataclass(slots=True)
class Ledger:
    """Rows that are not on disk yet. `on_row` is told of each, so that somebody writes them soon."""

    clock: Clock
    on_row: Callable[[], None]
    in_flight: int = 0
    dropped_rows: int = 0
    _rows: list[UsageRow] = field(default_factory=list)

    def open(self, request_id: str, credential: Credential, model: str, path: str, hold: Hold = UNLIMITED) -> "Open":
        """For `with`: the row is written when it is left, and the hold is given back, whatever the reason."""
        now = self.clock.monotonic()
        return Open(self, Entry(request_id, credential, model, path, self.clock.wall(), now, hold=hold))

    def close(self, entry: Entry) -> None:
        if entry.instance_id is None:
            return
        if len(self._rows) >= MOST_ROWS:
            self.dropped_rows += 1
            log.error("usage_not_kept", extra={"dropped_rows": self.dropped_rows})
            return
        self._rows.append(entry.row(self.clock.monotonic()))
        self.on_row()

    def waiting(self) -> list[UsageRow]:
        return list(self._rows)

    def forget(self, count: int) -> None:
        """The oldest `count` rows are on disk."""
        del self._rows[:count]


@dataclass(slots=True)
class Open:
    """A request that is under way."""

    ledger: Ledger
    entry: Entry

    def __enter__(self) -> Entry:
        self.ledger.in_flight += 1
        return self.entry

    def __exit__(self, *_: object) -> None:
        self.ledger.in_flight -= 1
        self.entry.hold.leave(self.entry.tokens)
        self.ledger.close(self.entry)
