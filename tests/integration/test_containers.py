"""Engines in containers, by a program that plays docker: two images beside each other on split cards of one host."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from backends.recipes import of_image
from gpustack_lite.wire import AssignedEngine, AssignedInstance, ClaimDoc
from tests.fakes import container_cli, mindieservice_daemon, npu_smi, wheels
from tests.fakes.worker_run import WorkerRun, wait_for, worker_run

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
IMAGES = {"vllm_ascend": "quay.io/ascend/vllm-ascend:v0.18.0", "mindie": "mindie:2.1"}
VERSIONS = {"vllm_ascend": "0.18.0+image", "mindie": "2.1+image"}


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerRun]:
    """The folder is made readable on the way, as models of a user are."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    npu_smi.install(tmp_path / "bin", npu_smi.a3(4, version="25.2.0"))
    with worker_run(tmp_path) as run:
        run.settings |= {"STOP_GRACE_SECONDS": "5.0", "MODEL_ROOTS": json.dumps([str(tmp_path)])}
        yield run


@pytest.fixture
def docker(tmp_path: Path, worker: WorkerRun) -> Iterator[Path]:
    mindieservice_daemon.install(tmp_path / "Ascend")
    vllm = wheels.program(tmp_path / "bin" / "vllm-of-image")
    roots = {"/usr/local/Ascend": str(tmp_path / "Ascend")}
    images = {
        IMAGES["vllm_ascend"]: {"programs": {"vllm": str(vllm)}, "roots": roots},
        IMAGES["mindie"]: {"roots": roots},
    }
    state = container_cli.put(tmp_path / "bin", "docker", images, pullable=(IMAGES["mindie"],))
    yield state
    for each in container_cli.containers(state).values():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(each["pid"], signal.SIGKILL)


def builds() -> tuple[AssignedEngine, ...]:
    return tuple(
        AssignedEngine(backend=each, version=VERSIONS[each], device_kind="ascend", recipe=of_image(each, image))
        for each, image in IMAGES.items()
    )


def assigned(id: int, backend: str, model: Path, devices: tuple[int, ...], **more: Any) -> AssignedInstance:
    return AssignedInstance(
        id=id,
        model="tiny",
        generation=1,
        source=str(model),
        backend=backend,
        backend_version=VERSIONS[backend],
        devices=devices,
        claim=ClaimDoc(device_count=len(devices), device_kinds=("ascend",)),
        engine_key="key",
        context_length=2048,
        **more,
    )


def says(port: int | None) -> str:
    answer = httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", json={}, timeout=20, trust_env=False)
    return str(answer.json()["choices"][0]["message"]["content"])


def mapped(state: Path, id: int) -> list[str]:
    """The devices of the last run for an instance."""
    ours = [each for each in container_cli.runs(state) if f"gpustack-lite.instance={id}" in each]
    return [ours[-1][at + 1] for at, flag in enumerate(ours[-1]) if flag == "--device"]


def test_two_engines_run_beside_each_other_each_with_its_cards(worker: WorkerRun, docker: Path, tmp_path: Path) -> None:
    model = wheels.tiny_model(tmp_path / "models" / "tiny")
    both = (assigned(1, "mindie", model, (0, 1)), assigned(2, "vllm_ascend", model, (2, 3)))
    worker.server.assign(*both, engines=builds())
    worker.start()
    for id in (1, 2):
        worker.server.wait_until(id, "ready")
    assert (mapped(docker, 1), mapped(docker, 2)) == (
        ["/dev/davinci0", "/dev/davinci1"],
        ["/dev/davinci2", "/dev/davinci3"],
    )
    status = worker.server.status(2)
    assert status is not None
    assert says(status.port) == "sees 0,1"
    offered = wait_for(lambda: [each for each in worker.server.heartbeats[-1].backend_versions if each.state])
    assert {(each.backend, each.source, each.state) for each in offered} == {
        ("mindie", "image", "ready"),
        ("vllm_ascend", "image", "ready"),
    }
    worker.server.assign(engines=builds())
    wait_for(lambda: not container_cli.containers(docker) and not worker.marked())


def test_a_container_outlives_the_worker_and_what_was_attached_and_is_adopted(
    worker: WorkerRun, docker: Path, tmp_path: Path
) -> None:
    model = wheels.tiny_model(tmp_path / "models" / "tiny")
    worker.server.assign(assigned(2, "vllm_ascend", model, (2, 3)), engines=builds())
    worker.start()
    before = worker.server.wait_until(2, "ready")
    (container,) = container_cli.containers(docker).values()
    worker.send(signal.SIGKILL)
    attached = json.loads((worker.data / "worker" / "instances" / "2.json").read_text())["process"]["pid"]
    os.kill(attached, signal.SIGKILL)
    worker.server.reports.clear()
    worker.start()
    after = worker.server.wait_until(2, "ready")
    assert (after.port, after.attempt) == (before.port, before.attempt)
    assert [each["pid"] for each in container_cli.containers(docker).values()] == [container["pid"]]
    assert says(after.port) == "sees 0,1"
    worker.server.assign(engines=builds())
    wait_for(lambda: not container_cli.containers(docker) and not worker.marked())


def test_a_container_of_ours_that_nobody_wants_is_removed_and_a_chip_in_use_is_said(
    worker: WorkerRun, docker: Path, tmp_path: Path
) -> None:
    model = wheels.tiny_model(tmp_path / "models" / "tiny")
    worker.server.assign(assigned(2, "vllm_ascend", model, (2, 3)), engines=builds())
    worker.start()
    worker.server.wait_until(2, "ready")
    late = assigned(3, "vllm_ascend", model, (3,), restart_limit=1)
    worker.server.assign(assigned(2, "vllm_ascend", model, (2, 3)), late, engines=builds())
    failed = worker.server.wait_until(3, "failed")
    assert "-8020" in str(failed.said) or "another" in str(failed.said)
    worker.send(signal.SIGKILL)
    for path in (worker.data / "worker" / "instances").glob("*.json"):
        path.unlink()
    worker.server.assign(engines=builds())
    worker.start()
    wait_for(lambda: not container_cli.containers(docker))
