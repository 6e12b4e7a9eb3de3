"""Before anything is placed, the host is held against what is documented of the engine's build."""

from typing import Any

import pytest

from gpustack_lite.db.tables import Worker, WorkerDevice
from gpustack_lite.server.preflight import Unfit, seen_of, unfit
from tests.fakes.rows import a_device, a_worker

ASCEND = frozenset({"ascend"})


def ascend_worker(version: str = "0.23.0", source: str = "wheel", **host: str) -> Worker:
    offered = {"backend": "vllm_ascend", "version": version, "device_kinds": ["ascend"], "installed": True}
    return a_worker(host=host, backend_versions=[{**offered, "source": source}])


def asked(worker: Worker, *devices: WorkerDevice) -> Unfit | None:
    return unfit(worker, seen_of(worker, devices, {}), "vllm_ascend", None, ASCEND)


@pytest.mark.parametrize(
    ("worker", "chips", "code"),
    [
        pytest.param(ascend_worker(cann="8.2.RC1"), ["910B3"], "cann_differs", id="CANN"),
        pytest.param(ascend_worker(cann="8.2.RC1", source="image"), ["910B3"], None, id="an image brings its own"),
        pytest.param(ascend_worker(driver="24.1.0"), ["910B3"], "driver_too_old", id="driver"),
        pytest.param(ascend_worker(driver="25.5.1", cann="9.1.0"), ["910B3"], None, id="fits"),
        pytest.param(ascend_worker(), ["910B3"], None, id="a host that tells nothing"),
        pytest.param(ascend_worker("1.2.3", driver="24.1.0"), ["910B3"], None, id="a version that is not listed"),
        pytest.param(ascend_worker(), ["310B4"], "engine_not_on_chip", id="chip"),
        pytest.param(ascend_worker(), ["310B4", "910B3"], None, id="one of two chips will do"),
        pytest.param(ascend_worker(driver="24.1.0"), [], None, id="no accelerator: another check says so"),
    ],
)
def test_a_host_is_unfit_where_that_is_documented(worker: Worker, chips: list[str], code: str | None) -> None:
    found = asked(worker, *[a_device(index, chip=chip) for index, chip in enumerate(chips)])
    assert (found.reason.code if found else None) == code


def test_the_reason_names_the_worker_and_the_remedy_the_right_versions() -> None:
    found = asked(ascend_worker(cann="8.2.RC1"), a_device(0))
    assert found is not None
    assert (found.reason.check, found.reason.params["host"]) == ("preflight", "w1")
    assert found.remedy is not None
    assert "0.9.1" in str(found.remedy.params["versions"])


def test_a_worker_that_has_the_engine_for_its_cpu_is_not_refused_for_its_gpu() -> None:
    row: dict[str, Any] = {"backend": "vllm", "version": "0.32.0", "device_kinds": ["cpu", "cuda"], "installed": True}
    worker = a_worker(host={"nvidia_driver": "470.1"}, backend_versions=[row | {"source": "path"}])
    gpu = seen_of(worker, [a_device(0, kind="cuda", chip="NVIDIA A10")], {})
    assert unfit(worker, gpu, "vllm", None, frozenset({"cuda", "cpu"})) is None
    worker.backend_versions = [row | {"source": "path", "device_kinds": ["cuda"]}]
    found = unfit(worker, gpu, "vllm", None, frozenset({"cuda", "cpu"}))
    assert found is not None
    assert found.reason.code == "nvidia_driver_too_old"
