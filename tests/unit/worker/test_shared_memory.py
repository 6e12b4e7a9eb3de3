"""Which leftovers in shared memory are ours to remove."""

import os
from pathlib import Path

import pytest

from gpustack_lite.ports import SystemDisk
from worker.shared_memory import Found, Segment, listed, open_in, remove, surely_ours

PATTERNS = ("*llm_backend_*", "llm_tokenizer_shared_memory_*")
OURS = Found(Segment("llm_tokenizer_shared_memory_410_0", 7), owner=1000, changed_at=50.0)


@pytest.mark.parametrize(
    ("found", "is_ours"),
    [
        pytest.param(OURS, True, id="named for a process of ours"),
        pytest.param(OURS._replace(owner=0), False, id="another user's"),
        pytest.param(
            OURS._replace(changed_at=10.0), False, id="older than the attempt: an earlier process of that pid"
        ),
        pytest.param(
            OURS._replace(segment=Segment("llm_tokenizer_shared_memory_999_410", 7)), False, id="a number behind"
        ),
        pytest.param(OURS._replace(segment=Segment("llm_backend_x", 8), changed_at=10.0), True, id="seen open in ours"),
        pytest.param(OURS._replace(segment=Segment("llm_backend_x", 9)), False, id="that name, another file by now"),
        pytest.param(OURS._replace(segment=Segment("llm_backend_y", 5)), False, id="nobody knows whose"),
    ],
)
def test_only_what_is_surely_ours(found: Found, is_ours: bool) -> None:
    made = surely_ours([found], {Segment("llm_backend_x", 8)}, {410}, 1000, 20.0)
    assert (made == [found.segment]) is is_ours


def test_a_file_that_a_process_has_open_is_seen(tmp_path: Path) -> None:
    for name in ("llm_tokenizer_shared_memory_1_0", "other"):
        (tmp_path / name).write_bytes(b"x")
    with (tmp_path / "llm_tokenizer_shared_memory_1_0").open("rb") as file, (tmp_path / "other").open("rb"):
        (seen,) = open_in([os.getpid()], PATTERNS, tmp_path)
        assert seen == Segment("llm_tokenizer_shared_memory_1_0", os.fstat(file.fileno()).st_ino)
    assert open_in([os.getpid()], PATTERNS, tmp_path) == set()


def test_a_new_file_of_an_old_name_is_left_alone(tmp_path: Path) -> None:
    for name in ("llm_backend_a", "llm_backend_b"):
        (tmp_path / name).write_bytes(b"x")
    first, second = sorted(each.segment for each in listed(PATTERNS, tmp_path))
    remove(SystemDisk(), [first, second._replace(inode=second.inode + 1)], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["llm_backend_b"]
