"""MindIE on a Duo card that computes no bfloat16, and one that says that it is broken."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.fakes import mindieservice_daemon, npu_smi
from tests.harness import Platform
from tests.unit.backends.models import CONFIGS

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.timeout(300)]


def started(tmp_path: Path, machine: dict[str, object], **installed: object) -> tuple[Platform, Path, str]:
    tools, models = tmp_path / "tools", tmp_path / "models" / "Qwen2.5-7B"
    npu_smi.install(tools, machine)
    models.mkdir(parents=True)
    (models / "config.json").write_text(json.dumps(CONFIGS["Qwen2.5-7B"]))
    state = mindieservice_daemon.install(tmp_path / "Ascend", **installed)  # type: ignore[arg-type]
    env = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "GPUSTACK_LITE_ASCEND_ROOT": str(state.parent),
        "GPUSTACK_LITE_HEARTBEAT_SECONDS": "1",
        "GPUSTACK_LITE_RESTART_BACKOFF_SECONDS": "0.2",
    }
    return Platform(tmp_path, env=env, model_roots=[tmp_path / "models"]), state, str(models)


def test_a_bfloat16_model_runs_on_310p_in_float16(tmp_path: Path) -> None:
    platform, state, source = started(tmp_path, npu_smi.duo(1, 2), chip="310P3", chips=4)
    with platform:
        platform.until(lambda: len(platform.api.get("/api/v1/devices").json()["items"]) == 4, 60)
        platform.deploy("duo", source=source, backend="mindie")
        platform.wait_ready("duo")
        assert "said by MindIE" in str(platform.chat("duo", "hello"))
        workdir = next((platform.data_dir / "worker" / "instances").glob("*/model"))
        assert json.loads((workdir / "config.json").read_text())["torch_dtype"] == "float16"
        assert CONFIGS["Qwen2.5-7B"]["torch_dtype"] == "bfloat16"
    assert not mindieservice_daemon.traces(state)


def test_one_that_says_it_is_broken_is_started_anew_and_one_that_was_killed_too(tmp_path: Path) -> None:
    platform, state, source = started(tmp_path, npu_smi.a2(2), chips=2)
    with platform:
        platform.until(lambda: len(platform.api.get("/api/v1/devices").json()["items"]) == 2, 60)
        platform.deploy("one", source=source, backend="mindie")
        platform.wait_ready("one")
        first = platform.instances("one")[0]["pid"]
        mindieservice_daemon.tell(state, abnormal=True)
        platform.until(lambda: platform.instances("one")[0]["pid"] not in {None, first}, 120)
        said = [each for each in platform.api.get("/api/v1/events").json()["items"] if "faulty" in str(each)]
        assert said
        mindieservice_daemon.tell(state, abnormal=False)
        second = platform.until(lambda: ready_pid(platform), 60)
        os.kill(second, signal.SIGKILL)
        third = platform.until(lambda: (pid := ready_pid(platform)) != second and pid, 60)
        assert third not in {first, second}
        assert len(mindieservice_daemon.traces(state)) == 9
    assert not mindieservice_daemon.traces(state)


def ready_pid(platform: Platform) -> int | None:
    (instance,) = platform.instances("one")
    return instance["pid"] if instance["state"] == "ready" else None
