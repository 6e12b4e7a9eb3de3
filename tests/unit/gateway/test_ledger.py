import asyncio
from contextlib import suppress

import pytest

from gpustack_lite.domain import Usage
from gpustack_lite.gateway import ledger
from gpustack_lite.gateway.ledger import Entry, Ledger
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.wire import Credential, UsageRow
from tests.fakes.clock import START, ManualClock

KEY = Credential(digest="d", kind="key", id=7, user_id=2, user="ada", role="user")
WORD = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'


class Book:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.told = 0
        self.ledger = Ledger(self.clock, on_row=self._tell)

    def _tell(self) -> None:
        self.told += 1

    @property
    def row(self) -> UsageRow:
        (row,) = self.ledger.waiting()
        return row


def reach(entry: Entry) -> None:
    entry.instance_id = 5


def test_a_finished_request_is_a_row_with_its_numbers() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "m", "/v1/chat/completions") as entry:
        reach(entry)
        entry.events = EventFilter(hides_usage=True)
        book.clock.advance(0.5)
        entry.events.feed(WORD)
        entry.note_content(book.clock.monotonic())
        book.clock.advance(1.5)
        entry.usage = Usage(7, 3, 1, 2)
        entry.end(200)
    row = book.row
    assert (row.request_id, row.key_id, row.user_id, row.model, row.instance_id) == ("r1", 7, 2, "m", 5)
    assert (row.started_at, row.ttft_seconds, row.seconds, row.status, row.cause) == (START, 0.5, 2.0, 200, None)
    assert (row.prompt_tokens, row.completion_tokens, row.cached_tokens, row.reasoning_tokens) == (7, 3, 1, 2)
    assert not row.partial
    assert book.told == 1


def test_a_request_that_no_engine_saw_is_no_row() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "m", "/v1/chat/completions"):
        pass
    assert book.ledger.waiting() == []


def test_a_client_that_left_is_a_partial_row_with_the_frames_it_may_have_seen() -> None:
    book = Book()
    with suppress(asyncio.CancelledError), book.ledger.open("r1", KEY, "m", "/v1/chat/completions") as entry:
        reach(entry)
        entry.events = EventFilter(hides_usage=True)
        entry.events.feed(WORD * 3)
        raise asyncio.CancelledError
    assert (book.row.status, book.row.cause, book.row.partial) == (499, "client_gone", True)
    assert (book.row.prompt_tokens, book.row.completion_tokens) == (None, 3)


def test_a_broken_stream_counts_frames_unless_the_engine_counted() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "m", "/v1/chat/completions") as entry:
        reach(entry)
        entry.events = EventFilter(hides_usage=True)
        entry.events.feed(WORD * 2)
        entry.end(502, "closed_early")
    assert (book.row.completion_tokens, book.row.partial) == (2, True)


def test_a_whole_stream_without_usage_does_not_guess() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "m", "/v1/chat/completions") as entry:
        reach(entry)
        entry.events = EventFilter(hides_usage=True)
        entry.events.feed(WORD * 2)
        entry.end(200)
    assert (book.row.completion_tokens, book.row.partial) == (None, False)


def test_a_session_is_no_key() -> None:
    book = Book()
    session = KEY.model_copy(update={"kind": "session"})
    with book.ledger.open("r1", session, "m", "/v1/chat/completions") as entry:
        reach(entry)
    assert (book.row.key_id, book.row.user_id) == (None, 2)


def test_requests_in_flight_are_counted_while_they_fly() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "m", "/p"), book.ledger.open("r2", KEY, "m", "/p"):
        assert book.ledger.in_flight == 2
    assert book.ledger.in_flight == 0


def test_rows_stay_until_they_are_said_to_be_on_disk() -> None:
    book = Book()
    for name in ("r1", "r2"):
        with book.ledger.open(name, KEY, "m", "/p") as entry:
            reach(entry)
    book.ledger.forget(1)
    assert [row.request_id for row in book.ledger.waiting()] == ["r2"]


def test_rows_that_no_disk_takes_are_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MOST_ROWS", 1)
    book = Book()
    for name in ("r1", "r2"):
        with book.ledger.open(name, KEY, "m", "/p") as entry:
            reach(entry)
    assert len(book.ledger.waiting()) == 1
    assert book.ledger.dropped_rows == 1
