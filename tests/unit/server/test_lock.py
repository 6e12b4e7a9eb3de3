"""One server per data dir."""

import os
from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.server.lock import NAME, locked
from tests.fakes.clock import ManualClock


def test_the_lock_names_its_holder_and_is_given_back(tmp_path: Path) -> None:
    with locked(tmp_path, ManualClock()):
        assert (tmp_path / NAME).read_text() == str(os.getpid())
    with locked(tmp_path, ManualClock()):
        pass


def test_a_second_server_waits_a_moment_and_is_refused(tmp_path: Path) -> None:
    clock = ManualClock()
    with locked(tmp_path, clock), pytest.raises(Refusal) as caught, locked(tmp_path, clock):
        pass
    assert (caught.value.code, caught.value.params["pid"]) == ("data_dir_in_use", str(os.getpid()))
    assert clock.seconds == pytest.approx(1005, abs=0.1)


def test_a_data_dir_that_cannot_be_made_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal) as caught, locked(tmp_path / "file" / "dir", ManualClock()):
        pass
    assert caught.value.code == "data_dir_not_writable"
