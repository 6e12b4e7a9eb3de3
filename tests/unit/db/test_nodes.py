"""Workers as the scheduler sees them, made from rows."""

from datetime import timedelta
from typing import Any

import pytest

from gpustack_lite.db.nodes import nodes
from gpustack_lite.db.queries.placing import Snapshot
from gpustack_lite.db.tables import Inspection, ModelInstance, Worker
from scheduler import Node
from tests.fakes.clock import START
from tests.fakes.rows import GIB, a_device, a_placed_instance, a_worker

CLAIM = {"device_count": 1, "bytes_per_device": 10 * GIB, "ram_bytes": GIB, "device_kinds": ["ascend"]}


def node(worker: Worker, held: list[ModelInstance] | None = None, **device: Any) -> Node:
    given = {"kind": "ascend", "chip": "910B3", "memory_used_bytes": 0} | device
    snapshot = Snapshot(
        revision=1,
        workers=[worker],
        devices={1: [a_device(0, **given)]},
        holding=held or [],
        pending=[],
        models={},
        inspections={("hf:q", 1): Inspection(source="hf:q", worker_id=1, asked_at=START, facts={"path": "/m"})},
        custom_backends={},
    )
    (found,) = nodes(snapshot, START)
    return found


def test_what_a_worker_says_of_itself_is_what_the_scheduler_asks() -> None:
    offered = [{"backend": name, "installed": name == "vllm"} for name in ("vllm", "mindie")]
    seen = node(a_worker(1, drained=True, disk_free_bytes=7, device_reserve_bytes=3, backend_versions=offered))
    assert (seen.drained, seen.disk_free_bytes, seen.device_reserve_bytes) == (True, 7, 3)
    assert seen.engines == {"vllm"}
    assert {"vllm", "mindie"} <= seen.backends
    assert seen.sources == {"hf:q"}


def test_groups_reach_the_scheduler() -> None:
    (device,) = node(a_worker(1), group="hccs-1", numa=1).devices
    assert (device.group, device.numa) == ("hccs-1", 1)


def test_a_reading_is_as_old_as_the_heartbeat_and_never_from_the_future() -> None:
    ages = [node(a_worker(1, seen_at=START - timedelta(seconds=s))).reading_age_seconds for s in (200, -5)]
    assert ages == [200.0, 0.0]
    assert node(a_worker(1)).reading_age_seconds is None


@pytest.mark.parametrize(("may_share", "closed"), [(False, {0}), (True, set())])
def test_a_chip_is_closed_unless_who_holds_it_shares(may_share: bool, closed: set[int]) -> None:
    held = a_placed_instance(1, "ready", device_indices=[0], claim={**CLAIM, "may_share": may_share})
    seen = node(a_worker(1), [held])
    assert seen.models == {held.model_name: 1}
    assert seen.exclusive == closed


@pytest.mark.parametrize(("state", "coming"), [("starting", {"hf:q": 5 * GIB}), ("ready", {})])
def test_files_that_are_yet_to_come_count_until_the_instance_serves(state: str, coming: dict[str, int]) -> None:
    held = a_placed_instance(1, state, device_indices=[0], claim={**CLAIM, "disk_bytes": 5 * GIB})
    held.assigned = {"source": "hf:q", "model": "m"}
    assert node(a_worker(1, disk_free_bytes=9 * GIB), [held]).bringing == coming


def test_what_our_devices_take_from_the_ram_is_not_foreign() -> None:
    held = a_placed_instance(1, "ready", device_indices=[0], claim=CLAIM)
    worker = a_worker(1, ram_total_bytes=64 * GIB, ram_used_bytes=12 * GIB, ram_own_bytes=GIB)
    seen = node(worker, [held], kind="cuda", chip="GB10", memory_total_bytes=64 * GIB, unified_memory=True)
    assert seen.ram_foreign_bytes == 2 * GIB
    assert seen.free_ram_bytes == (64 - 2 - 10 - 1) * GIB
