"""Eight 910B3 that npu-smi tells of and a vLLM-Ascend on PATH: deployed, ready, served, failed, stopped."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.fakes import npu_smi, vllm_program
from tests.harness import Platform
from tests.unit.backends.models import CONFIGS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
TEMPLATE = "{% for tool in tools %}<tool_call>{% endfor %}{% if enable_thinking %}<think>{% endif %}"


def directory(folder: Path) -> Path:
    made = folder / "Qwen3-32B"
    made.mkdir(parents=True)
    (made / "config.json").write_text(json.dumps(CONFIGS["Qwen3-32B"]))
    (made / "chat_template.jinja").write_text(TEMPLATE)
    return made


def started(tmp_path: Path) -> tuple[Platform, Path]:
    """The second is where the stand-in is told, and tells, what happens."""
    npu_smi.install(tmp_path / "tools", npu_smi.a2(version="25.5.0"))
    state = vllm_program.install(tmp_path / "venv", tmp_path / "Ascend")
    env = {
        "PATH": f"{tmp_path / 'tools'}:{state / 'bin'}:{os.environ['PATH']}",
        "GPUSTACK_LITE_ASCEND_ROOT": str(tmp_path / "Ascend"),
        "GPUSTACK_LITE_HEARTBEAT_SECONDS": "1",
        "GPUSTACK_LITE_RESTART_BACKOFF_SECONDS": "0.2",
        "ASCEND_RT_VISIBLE_DEVICES": "7",
        "GPUSTACK_LITE_ENGINE_PORTS": f"{24000 + os.getpid() % 50 * 100}-{24099 + os.getpid() % 50 * 100}",
    }
    return Platform(tmp_path, env=env, model_roots=[tmp_path / "models"]), state


def test_from_the_first_look_to_free_cards(tmp_path: Path) -> None:
    source = str(directory(tmp_path / "models"))
    platform, state = started(tmp_path)
    with platform:
        platform.until(lambda: len(platform.api.get("/api/v1/devices").json()["items"]) == 8, 60)
        offered = platform.api.get("/api/v1/backends/vllm_ascend/versions").json()["items"]
        assert [each["version"] for each in offered] == ["path-0.23.0"]

        platform.deploy("first", source=source, options={"max-model-len": 8192})
        platform.deploy("second", source=source, backend="vllm_ascend", options={"seed": 1})
        first, second = (platform.wait_ready(each) and platform.instances(each)[0] for each in ("first", "second"))
        assert (first["launch"]["backend"], first["simulated"]) == ("vllm_ascend", False)
        assert [len(each["devices"]) for each in (first, second)] == [2, 2]
        assert not set(first["devices"]) & set(second["devices"])
        assert platform.chat("first", "hello")["choices"][0]["message"]["content"] == "hello"
        listed = platform.api.get("/v1/models/first", headers={"Authorization": f"Bearer {platform.key()}"}).json()
        assert (listed["tools"], listed["reasoning"], listed["context_length"]) == (True, True, 8192)

        given = next(each for each in vllm_program.started(state) if "--served-model-name=first" in each["argv"])
        assert {"--tool-call-parser=hermes", "--reasoning-parser=qwen3"} <= set(given["argv"])
        env = given["env"]
        assert env["ASCEND_RT_VISIBLE_DEVICES"] == ",".join(each.rpartition(":")[2] for each in first["devices"])
        assert (env["OMP_NUM_THREADS"], env["HCCL_OP_EXPANSION_MODE"]) == ("1", "AIV")
        assert env["ASCEND_TOOLKIT_HOME"] == str(tmp_path / "Ascend")

        platform.deploy("wrong", source=source, options={"bogus": True}, restart_limit=1)
        platform.until(lambda: failed(platform, "wrong"), 60)
        assert "--bogus" in platform.instances("wrong")[0]["state_message"]

        os.kill(first["pid"], signal.SIGUSR1)
        platform.until(lambda: platform.instances("first")[0]["pid"] not in {None, first["pid"]}, 60)
        platform.wait_ready("first")
        assert "engine_out_of_memory" in str(platform.api.get("/api/v1/events").json()["items"])
        vllm_program.tell(state, "OSError: libatb.so: cannot open shared object file: No such file or directory")
        platform.deploy("third", source=source, backend="vllm_ascend", restart_limit=1)
        platform.until(lambda: failed(platform, "third"), 60)
        assert "libatb.so" in platform.instances("third")[0]["state_message"]

        for name in ("first", "second", "third", "wrong"):
            assert platform.api.delete(f"/api/v1/models/{name}").status_code == 204
        platform.until(lambda: not platform.api.get("/api/v1/instances").json()["items"], 60)
        pids = [each["pid"] for each in vllm_program.started(state)]
        platform.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 30)


def failed(platform: Platform, name: str) -> bool:
    found = platform.instances(name)
    return bool(found) and found[0]["state"] == "failed"
