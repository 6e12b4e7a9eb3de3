"""Which Assignment counts."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpustack_lite.ports import SystemDisk
from gpustack_lite.wire import AssignedInstance, Assignment
from worker.adoption import Record, Records
from worker.desired import NOTHING_YET, Desired, is_newer


def at(epoch: int, revision: int) -> Assignment:
    return Assignment(epoch=epoch, revision=revision)


@pytest.mark.parametrize(
    ("candidate", "newer"),
    [
        pytest.param(at(2, 6), True, id="a later revision"),
        pytest.param(at(3, 1), True, id="a later epoch, whatever its revision"),
        pytest.param(at(2, 5), False, id="the same again"),
        pytest.param(at(2, 4), False, id="an earlier revision that was late"),
        pytest.param(at(1, 99), False, id="somebody who lost the lease"),
    ],
)
def test_epoch_then_revision(candidate: Assignment, newer: bool) -> None:
    assert is_newer(candidate, at(2, 5)) is newer


def test_what_was_accepted_survives_and_is_private(tmp_path: Path) -> None:
    instance = AssignedInstance(id=1, model="m", generation=1, source="none:", backend="echo", engine_key="secret")
    assignment = Assignment(epoch=1, revision=1, instances=(instance,))
    assert Desired(tmp_path, SystemDisk()).accept(assignment)
    assert Desired(tmp_path, SystemDisk()).current == assignment
    assert (tmp_path / "worker" / "assignment.json").stat().st_mode & 0o777 == 0o600


def test_old_news_changes_nothing(tmp_path: Path) -> None:
    desired = Desired(tmp_path, SystemDisk())
    desired.accept(at(2, 5))
    assert not desired.accept(at(2, 4))
    assert desired.current == at(2, 5)
    assert desired.position() == (2, 5)


def test_a_server_that_forgot_us_begins_anew_once(tmp_path: Path) -> None:
    desired = Desired(tmp_path, SystemDisk())
    desired.accept(at(9, 9))
    desired.begin_anew()
    assert desired.current == at(9, 9)
    assert desired.position() == (0, -1)
    assert desired.accept(at(1, 1))
    assert not desired.accept(at(1, 0))


def test_a_torn_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker" / "assignment.json").write_bytes(b'{"epoch": 1')
    assert Desired(tmp_path, SystemDisk()).current == NOTHING_YET


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff\0"])
def test_what_was_begun_is_wanted_until_a_server_is_heard(tmp_path: Path, content: bytes | None) -> None:
    begun = AssignedInstance(id=7, model="m", generation=1, source="none:", backend="echo", engine_key="k")
    Records(tmp_path, SystemDisk()).save(Record(instance=begun, since=datetime.now(UTC)))
    if content is not None:
        (tmp_path / "worker" / "assignment.json").write_bytes(content)
    desired = Desired(tmp_path, SystemDisk())
    assert desired.current.instances == (begun,)
    assert desired.accept(at(1, 0))
    assert desired.current.instances == ()
