"""The account of requests whose sender is known: one row each, however they ended, and whatever happens to us."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType

from gpustack_lite.domain import Usage
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import flight, rows
from gpustack_lite.gateway.call import ClientGone
from gpustack_lite.gateway.flight import Flight, Slot
from gpustack_lite.gateway.limits import UNLIMITED, Hold
from gpustack_lite.gateway.rows import Common, Commons, End, Stamps, storable
from gpustack_lite.gateway.spending import Spent
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.ports import Clock
from gpustack_lite.wire import Credential

log = logging.getLogger(__name__)
MOST_ROWS = 100_000
"""In memory, while the disk takes none."""
CLIENT_GONE = 499
"""nginx's status for a client that left; no client ever sees it."""
_UNFINISHED = b',"seconds":0.0,"status":%d}' % CLIENT_GONE
REFUSED_PER_SECOND, REFUSED_AT_ONCE = 20.0, 500.0
"""Rows of requests that reached no engine: a flood of refusals must fill nobody's disk."""


class Entry:
    """Filled while the request runs. Until `reach` no engine saw it."""

    hold: Hold = UNLIMITED
    public_name: str | None = None
    is_stream = False
    shown_id: str | None = None
    """What the client saw as X-Request-ID, where that was its own."""
    instance_id: int | None = None
    worker: str | None = None
    first_content: float | None = None
    status = CLIENT_GONE
    cause: str | None = "client_gone"
    usage: Usage | None = None
    events: EventFilter | None = None
    cut: Callable[[Refusal], None] | None = None
    """Ends the request, wherever it is: with a refusal, or a stream with its error event and a broken end."""
    queued_seconds: float | None = None
    audio_seconds: float | None = None
    images: int | None = None
    slot: Slot | None = None
    _beginning: bytes | None = None
    _told_usage: Usage | None = None

    def __init__(self, ledger: "Ledger", request_id: str, credential: Credential, model: str, path: str) -> None:
        self._ledger = ledger
        self.request_id = request_id
        self.credential = credential
        self.model = model
        self.path = path
        self.started = ledger.now()
        self.started_at = ledger.stamps.now()

    def asks_for(self, name: str, *, is_stream: bool) -> None:
        """What the client wants, in its own words."""
        self.model = self.public_name = storable(name)
        self.is_stream = is_stream

    def reach(self, instance_id: int, worker: str = "") -> None:
        """An engine is asked now: if we are killed from here on, there is a row all the same."""
        self.instance_id = instance_id
        self.worker = worker or None
        self.record(self._ledger.commons.text(self._common()))

    def record(self, common: bytes) -> None:
        """The same where what many such requests have in common is spelt already."""
        beginning = self._beginning = rows.begun(self.request_id, self.started_at, common)
        flight = self._ledger.flight
        if flight is not None:
            before, self.slot = self.slot, flight.begin(beginning + _UNFINISHED)
            if before is not None:
                flight.free(before)

    def reached_nobody(self) -> None:
        """The engine that was to be asked never heard of it."""
        self.instance_id = self.worker = self._beginning = None
        if self._ledger.flight is not None and self.slot is not None:
            self._ledger.flight.free(self.slot)
            self.slot = None

    @property
    def found_usage(self) -> Usage | None:
        return self.usage or (self.events.usage if self.events else None)

    @property
    def frames(self) -> int | None:
        """Frames with content that passed, at least one token each: what is counted when the engine cannot say more."""
        return (self.events.content_frames or None) if self.events is not None else None

    @property
    def tokens(self) -> int | None:
        """All of them, as far as the engine has said, or as far as frames passed."""
        usage = self.usage or self.found_usage
        return self.frames if usage is None else (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)

    def end(self, status: int, cause: str | None = None) -> None:
        self.status = status
        self.cause = cause

    def note_content(self, now: float) -> None:
        """A piece of a stream has passed."""
        events = self.events
        if events is None:
            return
        if self.first_content is None and events.content_frames:
            self.first_content = now
        if self.slot is not None:
            ttft = None if self.first_content is None else self.first_content - self.started
            flight.note(self.slot, events.content_frames, now - self.started, ttft)
            if events.usage is not self._told_usage:
                self._note_usage(self.slot, events.usage)

    def _note_usage(self, slot: Slot, usage: Usage | None) -> None:
        self._told_usage = usage
        if usage is not None:
            counts = usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.reasoning_tokens
            flight.note_usage(slot, counts)

    def broke(self, error: BaseException | None) -> None:
        """It was left by an exception: whoever raised it did not say how the request ended, unless it did."""
        if self.cause != "client_gone":
            return
        if isinstance(error, Refusal):
            self.end(error.status, error.code)
        elif isinstance(error, Exception) and not isinstance(error, ClientGone):
            self.end(500, "internal_error")

    # --- the row

    def text(self, now: float) -> bytes:
        beginning = self._beginning
        if beginning is None:
            common = self._ledger.commons.text(self._common())
            beginning = rows.begun(self.request_id, self.started_at, common)
        return b"%s,%s" % (beginning, rows.encode(self._end(now))[1:])

    def _common(self) -> Common:
        credential, public_name = self.credential, self.public_name
        return Common(
            self.model,
            self.path,
            key_id_of(credential),
            credential.user_id,
            self.instance_id,
            None if public_name == self.model else public_name,
            self.is_stream,
            self.shown_id,
            self.worker,
        )

    @property
    def _counted(self) -> Usage:
        found = self.usage or (self.events.usage if self.events is not None else None)
        return found or Usage(None, self.frames if self.cause is not None else None)

    def _end(self, now: float) -> End:
        first, cause = self.first_content, self.cause
        return End(
            int((now - self.started) * 1e6 + 0.5) / 1e6,  # six digits, in a third of what `round` takes
            self.status,
            *(self.usage or self._counted),
            None if first is None else int((first - self.started) * 1e6 + 0.5) / 1e6,
            cause,
            cause is not None and self._is_partial(),
            self.queued_seconds,
            self.audio_seconds,
            self.images,
        )

    def _is_partial(self) -> bool:
        if self.instance_id is None:
            return False
        return self.status == CLIENT_GONE or (self.found_usage is None and self.events is not None)

    def spent(self) -> Spent:
        """The part of the row that budgets are about."""
        credential, at = self.credential, datetime.fromisoformat(self.started_at.decode())
        return Spent(self.model, at, key_id_of(credential), credential.user_id, *self._counted[:2])


def key_id_of(credential: Credential) -> int | None:
    return (credential.id or None) if credential.kind != "session" else None


@dataclass(slots=True)
class Allowance:
    """So many at once and so many per second; those above are counted."""

    per_second: float
    most: float
    _left: float = -1.0
    _seen: float = 0.0

    def take(self, now: float) -> bool:
        gained = (now - self._seen) * self.per_second
        self._left = self.most if self._left < 0 else min(self.most, self._left + gained)
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Ledger:
    """Rows that are not on disk yet. `on_row` is told that there is one, so that somebody writes it soon."""

    def __init__(self, clock: Clock, on_row: Callable[[], None], flight: Flight | None = None) -> None:
        self.clock = clock
        self.now = clock.monotonic
        self.stamps = Stamps(clock.unix)
        self.commons = Commons()
        self.on_row = on_row
        self.flight = flight
        self.dropped_rows = 0
        self.refused_unrecorded = 0
        self.note: Callable[[Entry], None] = lambda _: None
        """Is told of each request that has ended, for the budgets."""
        self.running: set[Entry] = set()
        self._rows: list[tuple[bytes, Slot | None]] = []
        self._refused = Allowance(REFUSED_PER_SECOND, REFUSED_AT_ONCE)

    @property
    def in_flight(self) -> int:
        return len(self.running)

    def open(
        self, request_id: str, credential: Credential, model: str, path: str, *, shown_id: str | None = None
    ) -> "Open":
        """For `with`: the row is written when it is left, and the hold is given back, whatever the reason."""
        entry = Entry(self, request_id, credential, model, path)
        if shown_id != request_id:
            entry.shown_id = shown_id
        return Open(self, entry)

    def left(self, entry: Entry) -> None:
        """The request has ended, and what it held is free."""
        self.running.discard(entry)
        entry.cut = None  # it leads back to the request, which nobody but the collector would find then
        if entry.hold is not UNLIMITED:
            entry.hold.leave(entry.tokens)
        self.close(entry)

    def close(self, entry: Entry) -> None:
        now = self.now()
        if entry.instance_id is None and not self._refused.take(now):
            self.refused_unrecorded += 1
            return
        if len(self._rows) >= MOST_ROWS:
            self._drop(entry)
            return
        self.note(entry)
        text = entry.text(now)
        slot = None if self.flight is None else self.flight.finish(entry.slot, text)
        self._rows.append((text, slot))
        if len(self._rows) == 1:
            self.on_row()

    def _drop(self, entry: Entry) -> None:
        self.dropped_rows += 1
        log.error("usage_not_kept", extra={"dropped_rows": self.dropped_rows})
        if self.flight is not None and entry.slot is not None:
            self.flight.free(entry.slot)

    def waiting(self) -> list[bytes]:
        """As JSON, oldest first."""
        return [text for text, _ in self._rows]

    def forget(self, count: int) -> None:
        """The oldest `count` rows are on disk."""
        if self.flight is not None:
            for _, slot in self._rows[:count]:
                if slot is not None:
                    self.flight.free(slot)
        del self._rows[:count]
        if self._rows:
            self.on_row()


@dataclass(slots=True)
class Open:
    """A request that is under way."""

    ledger: Ledger
    entry: Entry

    def again(self) -> "Again":
        """For `with`, behind an `__enter__` that somebody else made."""
        return Again(self)

    def __enter__(self) -> Entry:
        self.ledger.running.add(self.entry)
        return self.entry

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if error is not None:
            self.entry.broke(error)
        self.ledger.left(self.entry)


@dataclass(slots=True)
class Again:
    """Only the way out."""

    opened: Open

    def __enter__(self) -> Entry:
        return self.opened.entry

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.opened.__exit__(kind, error, trace)
