import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from gpustack_lite.domain import Usage
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import ledger, spending
from gpustack_lite.gateway.call import ClientGone
from gpustack_lite.gateway.flight import Flight, rows_of
from gpustack_lite.gateway.ledger import Entry, Ledger
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.ports import Identity, SystemDisk
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
        (row,) = self.rows
        return row

    @property
    def rows(self) -> list[UsageRow]:
        return [UsageRow.model_validate_json(text) for text in self.ledger.waiting()]


def reach(entry: Entry) -> None:
    entry.reach(5, "w1")


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


def test_a_refusal_is_a_row_without_an_engine() -> None:
    book = Book()
    refusal = Refusal("rate_limit_exceeded", status=429)
    with suppress(Refusal), book.ledger.open("r1", KEY, "", "/v1/chat/completions") as entry:
        entry.asks_for("m", is_stream=True)
        raise refusal
    row = book.row
    assert (row.status, row.cause, row.model, row.is_stream) == (429, "rate_limit_exceeded", "m", True)
    assert (row.instance_id, row.completion_tokens, row.partial) == (None, None, False)


def test_how_it_ended_is_said_by_whoever_knows_best() -> None:
    book = Book()
    with suppress(Refusal), book.ledger.open("r1", KEY, "m", "/p") as entry:
        reach(entry)
        entry.end(502, "connect_failed")
        raise Refusal("engine_unreachable", status=502)
    assert book.row.cause == "connect_failed"


def test_a_fault_of_ours_is_not_the_clients() -> None:
    book = Book()
    with suppress(ZeroDivisionError), book.ledger.open("r1", KEY, "m", "/p"):
        raise ZeroDivisionError
    assert (book.row.status, book.row.cause) == (500, "internal_error")


def test_a_client_that_left_while_it_sent_is_gone() -> None:
    book = Book()
    with suppress(ClientGone), book.ledger.open("r1", KEY, "m", "/p"):
        raise ClientGone
    assert (book.row.status, book.row.cause) == (499, "client_gone")


def test_a_flood_of_refusals_is_counted_and_not_written() -> None:
    book = Book()

    def refuse(times: int) -> None:
        for number in range(times):
            with suppress(Refusal), book.ledger.open(f"r{number}", KEY, "m", "/p"):
                raise Refusal("model_not_found", status=404)

    refuse(int(ledger.REFUSED_AT_ONCE) + 3)
    assert (len(book.rows), book.ledger.refused_unrecorded) == (ledger.REFUSED_AT_ONCE, 3)
    book.clock.advance(0.5)
    refuse(11)
    assert (len(book.rows), book.ledger.refused_unrecorded) == (ledger.REFUSED_AT_ONCE + 10, 4)


def test_the_id_that_the_client_saw_is_kept_where_it_is_its_own() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "m", "/p", shown_id="mine") as entry:
        reach(entry)
    with book.ledger.open("r2", KEY, "m", "/p", shown_id="r2") as entry:
        reach(entry)
    assert [row.shown_id for row in book.rows] == ["mine", None]


@pytest.mark.parametrize(
    ("name", "kept"), [("a\0b\ud800", "a\ufffdb\ufffd"), ("x" * 300, "x" * 200), ("\u6a21", "\u6a21")]
)
def test_a_name_that_a_client_made_up_fits_every_database(name: str, kept: str) -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "", "/p") as entry:
        entry.asks_for(name, is_stream=False)
    assert book.row.model == kept


def test_an_alias_is_told_beside_the_model() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "", "/p") as entry:
        entry.asks_for("best", is_stream=False)
        entry.model = "m"
    assert (book.row.model, book.row.public_name) == ("m", "best")


def test_what_is_left_early_costs_the_frames_that_passed() -> None:
    book = Book()
    with book.ledger.open("r1", KEY, "m", "/p") as entry:
        reach(entry)
        entry.events = EventFilter(hides_usage=True)
        entry.events.feed(WORD * 3)
        assert entry.tokens == 3


class TestWhenWeAreKilled:
    """What is found in the file of a process that ended at this very moment."""

    @pytest.fixture
    def book(self, tmp_path: Path) -> Book:
        book = Book()
        book.ledger.flight = Flight(tmp_path, SystemDisk(), Identity(10, 100, "boot"))
        return book

    def left(self, folder: Path) -> list[UsageRow]:
        return [UsageRow.model_validate_json(row) for path in folder.iterdir() for row in rows_of(path.read_bytes())]

    def test_a_request_in_flight_is_a_row_of_what_passed(self, book: Book, tmp_path: Path) -> None:
        with book.ledger.open("r1", KEY, "m", "/v1/chat/completions") as entry:
            entry.is_stream = True
            reach(entry)
            entry.events = EventFilter(hides_usage=True)
            book.clock.advance(0.5)
            for _ in range(3):
                entry.events.feed(WORD)
                entry.note_content(book.clock.monotonic())
                book.clock.advance(0.25)
            (row,) = self.left(tmp_path)
        assert (row.request_id, row.key_id, row.model, row.instance_id, row.worker) == ("r1", 7, "m", 5, "w1")
        assert (row.status, row.cause, row.partial, row.is_stream) == (502, "gateway_killed", True, True)
        assert (row.seconds, row.ttft_seconds, row.prompt_tokens, row.completion_tokens) == (1.0, 0.5, None, 3)

    def test_usage_that_the_engine_said_is_kept(self, book: Book, tmp_path: Path) -> None:
        with book.ledger.open("r1", KEY, "m", "/v1/chat/completions") as entry:
            reach(entry)
            entry.events = EventFilter(hides_usage=True)
            entry.events.feed(b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n')
            entry.note_content(book.clock.monotonic())
            (row,) = self.left(tmp_path)
        assert (row.prompt_tokens, row.completion_tokens, row.cached_tokens) == (7, 3, None)

    def test_a_finished_row_is_there_until_it_is_on_disk_elsewhere(self, book: Book, tmp_path: Path) -> None:
        with book.ledger.open("r1", KEY, "m", "/p") as entry:
            reach(entry)
            entry.end(200)
        assert self.left(tmp_path) == book.rows
        book.ledger.forget(1)
        assert self.left(tmp_path) == []

    def test_what_no_engine_saw_is_under_way_nowhere(self, book: Book, tmp_path: Path) -> None:
        with book.ledger.open("r1", KEY, "m", "/p") as entry:
            reach(entry)
            entry.reached_nobody()
            assert self.left(tmp_path) == []
        assert [row.instance_id for row in self.left(tmp_path)] == [None]

    def test_a_second_replica_is_the_one_that_is_told(self, book: Book, tmp_path: Path) -> None:
        with book.ledger.open("r1", KEY, "m", "/p") as entry:
            entry.reach(5)
            entry.reach(6)
            assert [row.instance_id for row in self.left(tmp_path)] == [6]


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


def test_a_writer_is_told_once_and_again_where_rows_came_meanwhile() -> None:
    book = Book()
    for name in ("r1", "r2", "r3"):
        with book.ledger.open(name, KEY, "m", "/p") as entry:
            reach(entry)
    assert book.told == 1
    book.ledger.forget(2)
    assert book.told == 2
    book.ledger.forget(1)
    assert book.told == 2


def test_what_budgets_are_told_is_what_the_row_says() -> None:
    book = Book()
    spent = []
    book.ledger.note = lambda entry: spent.append(entry.spent())
    with book.ledger.open("r1", KEY, "m", "/p") as entry:
        reach(entry)
        entry.usage = Usage(7, 3)
        entry.end(200)
    assert spent == spending.of_rows(book.ledger.waiting())
    assert (spent[0].tokens, spent[0].started_at) == (10, START)


def test_rows_stay_until_they_are_said_to_be_on_disk() -> None:
    book = Book()
    for name in ("r1", "r2"):
        with book.ledger.open(name, KEY, "m", "/p") as entry:
            reach(entry)
    book.ledger.forget(1)
    assert [row.request_id for row in book.rows] == ["r2"]


def test_rows_that_no_disk_takes_are_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MOST_ROWS", 1)
    book = Book()
    for name in ("r1", "r2"):
        with book.ledger.open(name, KEY, "m", "/p") as entry:
            reach(entry)
    assert len(book.ledger.waiting()) == 1
    assert book.ledger.dropped_rows == 1
