"""A worker finds devices through programs on PATH that play a machine, and keeps serving when they break."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.wire import Heartbeat
from tests.fakes import npu_smi, nvidia_smi, playing
from tests.fakes.worker_run import MOCK_ENGINE, WorkerRun, echo, mock, worker_run
from tests.harness import Document, Platform, cli

pytestmark = pytest.mark.integration
GIB = 1024**3


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in front of PATH."""
    folder = tmp_path / "tools"
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.fixture
def worker(tmp_path: Path, tools: Path) -> Iterator[WorkerRun]:
    with worker_run(tmp_path) as run:
        yield run


def latest(worker: WorkerRun, wanted: str) -> Heartbeat:
    """The first heartbeat whose tools say `wanted`; "pass" is what a tool says that answers."""

    def says_so() -> Heartbeat | None:
        beat = worker.server.heartbeats[-1] if worker.server.heartbeats else None
        words = {each.said.code if each.said else each.status for each in beat.tools} if beat else set()
        return beat if wanted in words else None

    found: Heartbeat = worker.server.wait_for(says_so, 60)
    return found


NPU_MOCK = {
    "name": "npu-mock",
    "command": [sys.executable, "-P", str(MOCK_ENGINE), "--port", "{port}"],
    "device_kinds": ["ascend"],
    "probe": {"path": "/health", "deadline_seconds": 60},
    "claim": {"device_count": 2, "bytes_per_device": 8 * GIB, "ram_bytes": 50_000_000},
}


def test_eight_910b3_from_the_first_look_over_a_sick_card_to_a_tool_that_is_refused(
    tmp_path: Path, tools: Path
) -> None:
    """Two islands are shown and used; a replica leaves a card that tells a code; what a tool says reaches the page."""
    machine = npu_smi.a2()
    chips = [card["chips"][0] for card in machine["cards"]]
    chips[5] |= {"processes": [{"pid": 4711, "name": "VLLMEngineCore", "mb": 56630}], "memory": [60156, 65536]}
    state = npu_smi.install(tools, machine)
    with Platform(tmp_path, env={"GPUSTACK_LITE_HEARTBEAT_SECONDS": "1"}) as platform:
        found = platform.until(lambda: _get(platform, "devices")["items"], 60)
        _are_as_described(platform, found)

        platform.create_backend(NPU_MOCK)
        platform.deploy("m", backend="npu-mock")
        platform.wait_ready("m")
        first = platform.instances("m")[0]
        indices = [int(address.rpartition(":")[2]) for address in first["devices"]]
        assert f"ASCEND_RT_VISIBLE_DEVICES={','.join(map(str, indices))}" in _environment(first["pid"])
        assert len({index // 4 for index in indices}) == 1, "both in one island"

        chips[indices[0]] |= {"health": "Critical", "codes": ["80E18402"]}
        playing.describe(state, machine)
        moved = platform.until(lambda: _ready_elsewhere(platform, first), 90)
        assert first["devices"][0] not in moved["devices"]
        sick = _get(platform, f"devices/{first['devices'][0]}")
        assert (sick["health"], sick["schedulable"], sick["error_codes"]) == ("critical", False, ["80E18402"])

        playing.describe(state, machine | {"fault": "8020"})
        told = platform.until(lambda: _said(platform, found[0]["worker"]), 60)
        assert told["said"]["code"] == "tool_device_held"
        assert "another container" in told["said"]["message"]
        assert told["remedy"]["message"]
        assert [each["memory_used_bytes"] for each in _get(platform, "devices")["items"]] == [None] * 8
        assert platform.instances("m")[0]["state"] == "ready", "what runs goes on"


def _are_as_described(platform: Platform, found: list[Document]) -> None:
    assert [each["index"] for each in found] == list(range(8))
    assert [each["group"] for each in found] == ["hccs-0"] * 4 + ["hccs-1"] * 4
    assert {(each["chip"], each["memory_total_bytes"]) for each in found} == {("910B3", 64 * GIB)}
    assert found[5]["processes"] == [{"pid": 4711, "name": "VLLMEngineCore", "memory_bytes": 56630 * 1024**2}]
    assert found[5]["foreign_bytes"] == 60156 * 1024**2
    worker = _get(platform, "workers/" + found[0]["worker"])
    assert (worker["host"]["driver"], worker["host"]["cann"]) == ("24.1.rc2", None)
    assert [(each["command"], each["status"]) for each in worker["tools"]] == [("npu-smi info", "pass")]


def _environment(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/environ").read_text().split("\0")


def _ready_elsewhere(platform: Platform, first: Document) -> Document | None:
    others = [each for each in platform.instances("m") if each["id"] != first["id"] and each["state"] == "ready"]
    return others[0] if others else None


def _get(platform: Platform, path: str) -> Document:
    answer: Document = platform.api.get(f"/api/v1/{path}").raise_for_status().json()
    return answer


def _said(platform: Platform, worker: str) -> Document | None:
    return next((each for each in _get(platform, f"workers/{worker}")["tools"] if each["said"]), None)


def test_a_hanging_tool_stops_neither_the_worker_nor_what_it_runs(worker: WorkerRun, tools: Path) -> None:
    state = npu_smi.install(tools, npu_smi.a2(2))
    worker.settings["DEVICE_TOOL_SECONDS"] = "2"
    worker.start()
    assert len(latest(worker, "pass").devices) == 2
    worker.server.assign(echo(1))
    worker.server.wait_until(1, "ready")
    playing.describe(state, npu_smi.a2(2, hangs=True))
    beat = latest(worker, "tool_hangs")
    assert [(each.index, each.memory_used_bytes) for each in beat.devices] == [(0, None), (1, None)]
    status = worker.server.status(1)
    assert status is not None
    assert str(status.state) == "ready"


def test_a_worker_whose_tool_hangs_from_the_start_runs_on_its_cpu(worker: WorkerRun, tools: Path) -> None:
    npu_smi.install(tools, npu_smi.a2(hangs=True))
    worker.settings["DEVICE_TOOL_SECONDS"] = "0.5"
    worker.server.assign(echo(1))
    worker.start()
    assert [each.kind for each in latest(worker, "tool_hangs").devices] == ["cpu"]
    worker.server.wait_until(1, "ready")


def test_an_engine_on_a_slice_of_a_card_is_told_the_slices_uuid(worker: WorkerRun, tools: Path) -> None:
    """Case C05 as a process."""
    slices = [{"profile": "3g.40gb", "uuid": "MIG-a"}, {"profile": "2g.20gb", "uuid": "MIG-b"}]
    cut = nvidia_smi.gpu(0, fields={"mig.mode.current": "Enabled", "memory.used": None}, mig=slices)
    nvidia_smi.install(tools, nvidia_smi.machine(cut, nvidia_smi.gpu(1)))
    worker.start()
    assert [each.index for each in latest(worker, "pass").devices] == [0, 1, 100, 101]
    asked = mock(1, devices=(101,))
    spec = {**(asked.backend_spec or {}), "device_kinds": ["cuda"]}
    worker.server.assign(asked.model_copy(update={"backend_spec": spec}))
    status = worker.server.wait_until(1, "ready")
    assert {"CUDA_VISIBLE_DEVICES=MIG-b", "CUDA_DEVICE_ORDER=PCI_BUS_ID"} <= set(_environment(status.pid or 0))


def test_doctor_names_what_a_tool_says(tmp_path: Path, tools: Path) -> None:
    npu_smi.install(tools, npu_smi.duo(1, 2))
    done = cli("doctor", "-o", "json", "--data-dir", str(tmp_path / "data"))
    assert '"310P3"' in done.stdout
