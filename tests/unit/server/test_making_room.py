"""Whom to ask before moves are looked for."""

import pytest

from backends import registry
from gpustack_lite.db.queries.placing import Ask, Snapshot
from gpustack_lite.db.tables import Inspection
from gpustack_lite.server.making_room import unasked
from tests.fakes.clock import START
from tests.fakes.fake_backends import GIB, FakeBackend
from tests.fakes.rows import a_model, a_placed_instance, a_worker

SOURCE = "/models/m.gguf"
TOLD = Inspection(
    source=SOURCE,
    worker_id=1,
    asked_at=START,
    answered_at=START,
    facts={"format": "gguf", "path": SOURCE, "size_bytes": GIB, "kv_head_counts": [8]},
)


@pytest.fixture(autouse=True)
def fake_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"fake": FakeBackend(), "reads": FakeBackend("reads", needs_facts=True)}
    monkeypatch.setattr(registry, "find", known.__getitem__)


def serving(backend: str) -> Snapshot:
    """A model runs on worker 1; worker 2 came afterwards and nobody asked it; worker 3 is silent."""
    return Snapshot(
        revision=5,
        workers=[a_worker(1), a_worker(2), a_worker(3, state="lost")],
        devices={},
        holding=[a_placed_instance(1, "ready")],
        pending=[],
        models={1: a_model(backend=backend, source=SOURCE)},
        inspections={(SOURCE, 1): TOLD},
        custom_backends={},
    )


def test_a_worker_that_came_after_a_model_was_placed_is_asked_about_its_files() -> None:
    assert unasked(serving("reads"), START) == [Ask(SOURCE, (2,))]


def test_nobody_is_asked_about_a_model_whose_engine_needs_no_files() -> None:
    assert unasked(serving("fake"), START) == []
