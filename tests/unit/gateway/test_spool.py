from collections.abc import Collection
from pathlib import Path

import pytest

from gpustack_lite.gateway import rows, spool
from gpustack_lite.gateway.rows import Row
from gpustack_lite.gateway.spool import Spool
from gpustack_lite.ports import Identity, SystemDisk, SystemProcesses
from gpustack_lite.wire import UsageRow
from tests.fakes.clock import START

ME, OTHER = Identity(10, 100, "boot-1"), Identity(11, 110, "boot-1")


class Living(SystemProcesses):
    def __init__(self, *alive: Identity) -> None:
        super().__init__()
        self.alive = alive

    def is_alive(self, identity: Identity) -> bool:
        return identity in self.alive


class FullDisk(SystemDisk):
    """Takes half a line and then no more, while `is_full`."""

    is_full = True

    def append(self, path: Path, content: bytes) -> None:
        super().append(path, content[: len(content) // 2] if self.is_full else content)
        if self.is_full:
            raise OSError(28, "No space left on device")


def row(number: int) -> bytes:
    return rows.encode(Row(f"r{number}", "m", "/v1/chat/completions", START, 1.0, 200))


def ids(texts: Collection[bytes]) -> list[str]:
    return [UsageRow.model_validate_json(each).request_id for each in texts]


def waiting(of: Spool) -> list[str]:
    return [each for path in of.deliverable() for each in ids(of.read(path))]


@pytest.fixture
def mine(tmp_path: Path) -> Spool:
    return Spool(tmp_path, SystemDisk(), Living(ME, OTHER), ME)


def test_rows_can_be_delivered_once_they_are_sealed(mine: Spool) -> None:
    mine.append([row(1), row(2)])
    assert waiting(mine) == []
    mine.seal()
    mine.append([row(3)])
    assert waiting(mine) == ["r1", "r2"]
    assert mine.waiting_rows == 3


def test_our_own_rows_need_not_be_read_back_until_they_are_many(mine: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    mine.append([row(1), row(2)])
    mine.seal()
    monkeypatch.setattr(SystemDisk, "read", None)
    assert waiting(mine) == ["r1", "r2"]
    monkeypatch.undo()
    monkeypatch.setattr(spool, "MOST_KEPT_ROWS", 2)
    mine.append([row(3)])
    mine.append([row(4)])
    mine.seal()
    assert mine._kept == {path.name: None for path in mine.deliverable()}
    assert waiting(mine) == ["r1", "r2", "r3", "r4"]


def test_delivered_rows_are_gone(mine: Spool) -> None:
    mine.append([row(1)])
    mine.seal()
    (path,) = mine.deliverable()
    mine.remove(path, 1)
    assert waiting(mine) == []
    assert mine.waiting_rows == 0


def test_nothing_written_is_nothing_to_seal(mine: Spool, tmp_path: Path) -> None:
    mine.seal()
    mine.seal()
    mine.append([row(1)])
    assert [path.name for path in tmp_path.iterdir()] == ["usage.10.100.boot-1.0.spool"]


def test_what_a_dead_gateway_left_is_taken_over_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    other = Spool(tmp_path, SystemDisk(), Living(OTHER), OTHER)
    other.append([row(1)])
    assert waiting(Spool(tmp_path, SystemDisk(), Living(ME, OTHER), ME)) == []
    assert waiting(Spool(tmp_path, SystemDisk(), Living(ME), ME)) == ["r1"]


def test_a_torn_tail_costs_no_row_but_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Spool(tmp_path, SystemDisk(), Living(), OTHER).append([row(1), row(2), row(3)])
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    assert waiting(Spool(tmp_path, SystemDisk(), Living(ME), ME)) == ["r1", "r2"]
    assert "usage_spool_damaged" in caplog.text


def test_a_line_that_was_altered_is_passed_over(tmp_path: Path) -> None:
    data = spool.encode(row(1)) + spool.encode(row(2)).replace(b"200", b"201") + b"\n" + b"xx\n" + spool.encode(row(3))
    assert ids(spool.decode(data, tmp_path)) == ["r1", "r3"]


def test_rows_that_a_full_disk_did_not_take_are_written_again_and_count_once(tmp_path: Path) -> None:
    disk = FullDisk()
    mine = Spool(tmp_path, disk, Living(ME), ME)
    with pytest.raises(OSError, match="space"):
        mine.append([row(1)])
    disk.is_full = False
    mine.append([row(1), row(2)])
    mine.seal()
    assert waiting(mine) == ["r1", "r2"]


def test_a_full_spool_loses_rows_aloud_and_counts_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mine = Spool(tmp_path, SystemDisk(), Living(ME), ME, most_bytes=len(spool.encode(row(1))) + 5)
    mine.append([row(1)])
    mine.append([row(2), row(3)])
    mine.seal()
    assert waiting(mine) == ["r1"]
    assert mine.dropped_rows == 2
    assert "usage_spool_full" in caplog.text


def test_it_knows_what_a_writer_has_said(mine: Spool, tmp_path: Path) -> None:
    mine.append([row(1), row(2)])
    other = Spool(tmp_path, SystemDisk(), Living(OTHER), OTHER)
    other.append([row(3)])
    assert other.ids_by(ME) == {"r1", "r2"}


@pytest.mark.parametrize(
    "name",
    [
        "routes.json",
        "usage.spool",
        "usage.1.2.b.spool",
        "usage.x.2.b.0.spool",
        "usage.1.2.b.0.tmp",
        ".usage.1.2.b.0.spool",
    ],
)
def test_other_files_are_left_alone(name: str) -> None:
    assert spool.writer_of(name) is None
