"""Which replica ends when there is one too many."""

from typing import Any

import pytest

from backends import registry
from gpustack_lite.db.queries.placing import Snapshot
from gpustack_lite.db.tables import ModelInstance
from gpustack_lite.server.usefulness import least_missed
from tests.fakes.clock import START
from tests.fakes.fake_backends import GIB, FakeBackend
from tests.fakes.rows import a_device, a_model, a_placed_instance, a_worker, an_instance

HELD = {"device_count": 1, "bytes_per_device": 10 * GIB, "ram_bytes": 0, "device_kinds": ["cuda"]}


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"fake": FakeBackend()}.__getitem__)


def replica(id: int, worker_id: int, device: int = 0, **given: Any) -> ModelInstance:
    return a_placed_instance(id, worker_id=worker_id, device_indices=[device], claim=HELD | given)


def a_cluster(*holding: ModelInstance, waiting_gib: int = 0) -> Snapshot:
    """Two workers with one card of 24 GiB each, a third with two."""
    versions = [{"backend": "fake", "version": "1", "device_kinds": ["cuda"], "source": "builtin", "installed": True}]
    card = {"kind": "cuda", "chip": "A10", "memory_total_bytes": 24 * GIB}
    used = {(each.worker_id, each.device_indices[0]): 0 for each in holding}
    for each in holding:
        used[each.worker_id, each.device_indices[0]] += (each.claim or {})["bytes_per_device"]
    cards = [(1, 0), (2, 0), (3, 0), (3, 1)]
    devices: dict[int, list[Any]] = {1: [], 2: [], 3: []}
    for worker, index in cards:
        devices[worker].append(
            a_device(index, worker_id=worker, **card, memory_used_bytes=used.get((worker, index), 0))
        )
    pending = [an_instance(99, model_id=9, model_name="big")] if waiting_gib else []
    wanted = a_model(id=9, name="big", backend="fake", source="none:", options={"gib": waiting_gib})
    workers = [a_worker(id_, backend_versions=versions, seen_at=START) for id_ in (1, 2, 3)]
    return Snapshot(1, workers, devices, list(holding), pending, {9: wanted} if waiting_gib else {}, {}, {})


def test_one_that_makes_room_for_a_waiting_model_goes_first() -> None:
    """On worker 2 another model holds 10 GiB of the same card, on worker 1 nobody does."""
    other = replica(7, 2, model_id=2, model_name="other")
    rest = [replica(8, 3, bytes_per_device=20 * GIB), replica(9, 3, 1, bytes_per_device=20 * GIB)]
    found = a_cluster(replica(1, 1), replica(2, 2), other, *rest, waiting_gib=20)
    assert least_missed(found, {1, 2}, START) == [1, 2]


def test_else_one_whose_device_is_emptiest_afterwards() -> None:
    found = a_cluster(replica(1, 1), replica(2, 2), replica(7, 2))
    assert least_missed(found, {1, 2}, START) == [1, 2]


def test_else_the_youngest() -> None:
    assert least_missed(a_cluster(replica(1, 1), replica(2, 2)), {1, 2}, START) == [2, 1]


def test_each_is_chosen_with_those_before_it_gone() -> None:
    """Two on one card free it whole only together, and so the second of them is worth more than a third elsewhere."""
    found = a_cluster(replica(1, 1), replica(2, 1), replica(3, 2), replica(4, 2), replica(7, 2, bytes_per_device=GIB))
    assert least_missed(found, {1, 2, 3, 4}, START) == [2, 1, 4, 3]
