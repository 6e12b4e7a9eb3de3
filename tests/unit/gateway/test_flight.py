from pathlib import Path
from typing import NoReturn

import pytest

from gpustack_lite.gateway import flight, rows
from gpustack_lite.gateway.flight import SLOT_BYTES, SLOTS, Flight
from gpustack_lite.gateway.rows import Row
from gpustack_lite.ports import Identity, SystemDisk
from tests.fakes.clock import START

ME = Identity(10, 100, "boot")


def row(name: str, **fields: object) -> bytes:
    return rows.encode(
        Row(**{"request_id": name, "model": "m", "path": "/p", "started_at": START, **NUMBERS, **fields})
    )


NUMBERS = {"seconds": 0.0, "status": 499}


def left(folder: Path) -> list[str]:
    return [
        str(rows.decode(each).request_id) for path in folder.iterdir() for each in flight.rows_of(path.read_bytes())
    ]


@pytest.fixture
def recorder(tmp_path: Path) -> Flight:
    return Flight(tmp_path, SystemDisk(), ME)


def test_its_file_says_whose_it_is(recorder: Flight, tmp_path: Path) -> None:
    assert [path.name for path in tmp_path.iterdir()] == ["flight.10.100.boot.0.slots"]
    assert recorder.taken == 0


def test_more_requests_than_a_file_has_slots_begin_another(recorder: Flight, tmp_path: Path) -> None:
    for number in range(SLOTS + 1):
        recorder.begin(row(f"r{number}"))
    assert len(set(left(tmp_path))) == SLOTS + 1
    assert len(list(tmp_path.iterdir())) == 2


def test_a_slot_is_used_again_and_tells_nothing_of_before(recorder: Flight, tmp_path: Path) -> None:
    slot = recorder.begin(row("a" * 900))
    assert slot is not None
    flight.note(slot, 5, 1.0, 0.5)
    recorder.free(slot)
    again = recorder.begin(row("b"))
    assert again == slot
    (found,) = [rows.decode(each) for path in tmp_path.iterdir() for each in flight.rows_of(path.read_bytes())]
    assert (found.request_id, found.completion_tokens, found.ttft_seconds) == ("b", None, None)


def test_what_does_not_fit_into_a_slot_is_counted(recorder: Flight) -> None:
    assert recorder.begin(row("a" * SLOT_BYTES)) is None
    assert recorder.without_slot == 1


def test_a_full_disk_stops_no_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Full(SystemDisk):
        def map(self, path: Path, size_bytes: int) -> NoReturn:
            raise OSError(28, "No space left on device")

    recorder = Flight(tmp_path, Full(), ME)
    assert recorder.begin(row("r1")) is None
    assert recorder.finish(None, row("r1")) is None
    assert (recorder.without_slot, caplog.text.count("flight_not_recorded")) == (2, 2)


@pytest.mark.parametrize(
    ("at", "byte"), [pytest.param(0, 7, id="unknown state"), pytest.param(140, 0xFF, id="a row that no JSON is")]
)
def test_what_a_power_cut_spoilt_costs_its_own_row_only(recorder: Flight, tmp_path: Path, at: int, byte: int) -> None:
    recorder.begin(row("r1"))
    recorder.begin(row("r2"))
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[at] = byte
    assert [rows.decode(each).request_id for each in flight.rows_of(bytes(content))] == ["r2"]
    assert list(flight.rows_of(bytes(content[:100]))) == []


def test_whoever_leaves_in_order_leaves_no_file(recorder: Flight, tmp_path: Path) -> None:
    slot = recorder.begin(row("r1"))
    recorder.close()
    assert left(tmp_path) == ["r1"]
    assert slot is not None
    recorder.free(slot)
    recorder.close()
    assert list(tmp_path.iterdir()) == []
