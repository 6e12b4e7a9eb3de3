from pathlib import Path

import pytest

from gpustack_lite.ports import Ports
from gpustack_lite.wire import Joined
from worker import identity


@pytest.mark.parametrize("damage", [b"", b"{", b"null", b"\0" * 80])
def test_a_damaged_identity_keeps_the_uid_that_engines_bear(tmp_path: Path, damage: bytes) -> None:
    made = identity.load_or_make(tmp_path, Ports())
    joined = made.after(Joined(worker_id=7, name="w1", credential="glw_x"))
    identity.save(tmp_path, joined, Ports())
    assert identity.load_or_make(tmp_path, Ports()) == joined
    identity.path_of(tmp_path).write_bytes(damage)
    again = identity.load_or_make(tmp_path, Ports())
    assert (again.uid, again.credential) == (made.uid, None)


def test_a_worker_of_before_the_uid_had_a_file_gets_one(tmp_path: Path) -> None:
    known = identity.WorkerIdentity(uid="0d3f1f0e-uid")
    identity.save(tmp_path, known, Ports())
    assert identity.load_or_make(tmp_path, Ports()) == known
    identity.path_of(tmp_path).unlink()
    assert identity.load_or_make(tmp_path, Ports()).uid == known.uid


def test_two_damaged_files_make_a_new_worker(tmp_path: Path) -> None:
    made = identity.load_or_make(tmp_path, Ports())
    for path in (tmp_path / "worker").iterdir():
        path.write_bytes(b"\xff")
    assert identity.load_or_make(tmp_path, Ports()).uid != made.uid
