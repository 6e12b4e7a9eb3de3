"""What a worker says of sources, and what runs on simulated devices."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.wire import ClaimDoc
from tests.fakes.worker_run import WorkerRun, echo, mock, worker_run

pytestmark = pytest.mark.integration


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerRun]:
    with worker_run(tmp_path) as run:
        yield run


def test_sources_are_answered_with_facts_or_a_refusal(worker: WorkerRun, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "cut.gguf").write_bytes(b"GGUF\x03\0\0\0")
    sources = ("none:", str(tmp_path / "models" / "missing.gguf"), str(tmp_path / "models" / "cut.gguf"), "/etc/passwd")
    worker.server.assign(inspect=sources)
    worker.start(MODEL_ROOTS=f'["{tmp_path}/models"]')
    answers = worker.server.wait_for(lambda: _answers(worker) if len(_answers(worker)) == len(sources) else None)
    assert answers["none:"] == "none"
    assert answers[sources[1]] == "source_missing"
    assert answers[sources[2]].startswith("gguf_")
    assert answers["/etc/passwd"] == "path_outside_roots"


def _answers(worker: WorkerRun) -> dict[str, str]:
    return {
        each.source: each.refused.code if each.refused else str((each.facts or {}).get("format"))
        for report in list(worker.server.reports)
        for each in report.facts
    }


def test_simulated_devices_are_reported_and_run_the_echo_engine_in_place_of_the_real_one(worker: WorkerRun) -> None:
    worker.server.assign(
        echo(1, devices=(0, 1), claim=ClaimDoc(device_count=2, bytes_per_device=1, device_kinds=("ascend",)))
    )
    worker.start(SIMULATE="8x910B3-64G")
    status = worker.server.wait_until(1, "ready")
    assert status.simulated
    beat = worker.server.wait_for(lambda: worker.server.heartbeats)[-1]
    assert beat.simulated
    assert {(device.chip, device.simulated) for device in beat.devices} == {("910B3", True)}
    assert len(beat.devices) == 8


def test_on_simulated_devices_the_real_launch_is_built_and_shown_but_not_run(worker: WorkerRun) -> None:
    instance = mock(1, "--exit-after-start", "1", devices=(1,))
    spec = {**(instance.backend_spec or {}), "device_kinds": ["ascend"]}
    worker.server.assign(instance.model_copy(update={"backend_spec": spec}))
    worker.start(SIMULATE="2x910B3-64G")
    status = worker.server.wait_until(1, "ready")
    assert (status.simulated, status.attempt) == (True, 1)
    assert status.launch is not None
    assert "--exit-after-start" in status.launch["argv"]
    assert str(status.port) in status.launch["argv"]


def test_devices_that_are_gone_are_said(worker: WorkerRun) -> None:
    worker.server.assign(echo(1, devices=(9,), restart_limit=1))
    worker.start(SIMULATE="2x910B3-64G")
    status = worker.server.wait_for(lambda: (s := worker.server.status(1)) and s.gave_up and s)
    assert status.said is not None
    assert status.said.code == "devices_gone"
