"""Where a model's files have no room, no instance goes."""

import pytest

from gpustack_lite.db.tables import ModelFile
from gpustack_lite.domain import ModelFacts
from gpustack_lite.server.room import full, no_room
from tests.fakes.clock import START
from tests.fakes.rows import a_model, a_worker

MODEL = a_model(source="huggingface:org/name")
FACTS = ModelFacts(format="gguf", path="", size_bytes=100, download_bytes=100)


def held(done_bytes: int, **more: object) -> ModelFile:
    base = {"worker_id": 1, "source": MODEL.source, "created_at": START, "updated_at": START}
    return ModelFile(**base | {"done_bytes": done_bytes} | more)


def test_a_disk_that_is_too_small_is_a_reason_with_numbers() -> None:
    reason = no_room(a_worker(disk_free_bytes=99), MODEL, FACTS, [])
    assert reason is not None
    assert (reason.code, reason.needed_bytes, reason.free_bytes) == ("not_enough_disk", 100, 99)


@pytest.mark.parametrize(
    ("worker", "files"),
    [
        pytest.param({"disk_free_bytes": 100}, [], id="just enough"),
        pytest.param({"disk_free_bytes": None}, [], id="nobody knows"),
        pytest.param({"disk_free_bytes": 0, "simulated": True}, [], id="nothing is fetched there"),
        pytest.param({"disk_free_bytes": 0}, [held(100)], id="it is there"),
        pytest.param({"disk_free_bytes": 60}, [held(40)], id="it is on its way"),
    ],
)
def test_there_is_room(worker: dict[str, object], files: list[ModelFile]) -> None:
    assert no_room(a_worker(**worker), MODEL, FACTS, files) is None


def test_another_revision_and_another_worker_do_not_count() -> None:
    files = [held(100, revision="v2"), held(100, worker_id=2)]
    assert no_room(a_worker(disk_free_bytes=10), MODEL, FACTS, files) is not None


def test_a_path_needs_no_room() -> None:
    assert no_room(a_worker(disk_free_bytes=10), a_model(), FACTS, []) is None


def test_where_nobody_has_room_the_worker_itself_looks_for_a_copy() -> None:
    one, two = a_worker(1, disk_free_bytes=10), a_worker(2, disk_free_bytes=500)
    assert list(full([one, two], MODEL, FACTS, [])) == [1]
    assert full([one], MODEL, FACTS, []) == {}
