"""Eight 910B3 that npu-smi tells of, a MindIE below the CANN root: deployed, served, refused, busy, stopped."""

import json
import os
from pathlib import Path

import pytest

from tests.fakes import mindieservice_daemon, npu_smi
from tests.harness import Platform
from tests.unit.backends.models import CONFIGS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


def directory(folder: Path) -> Path:
    made = folder / "Qwen3-14B"
    made.mkdir(parents=True)
    (made / "config.json").write_text(json.dumps(CONFIGS["Qwen3-14B"]))
    return made


def started(tmp_path: Path) -> tuple[Platform, Path]:
    """The second is where the daemons are told how they are."""
    tools = tmp_path / "tools"
    npu_smi.install(tools, npu_smi.a2())
    state = mindieservice_daemon.install(tmp_path / "Ascend")
    env = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "GPUSTACK_LITE_ASCEND_ROOT": str(state.parent),
        "GPUSTACK_LITE_HEARTBEAT_SECONDS": "1",
    }
    return Platform(tmp_path, env=env, model_roots=[tmp_path / "models"]), state


def test_two_of_them_serve_on_split_cards_and_being_busy_ends_neither(tmp_path: Path) -> None:
    source = str(directory(tmp_path / "models"))
    platform, state = started(tmp_path)
    with platform:
        platform.until(lambda: len(platform.api.get("/api/v1/devices").json()["items"]) == 8, 60)
        platform.deploy("org/first", source=source, backend="mindie", options={"maxSeqLen": 8192})
        platform.deploy("second", source=source, backend="mindie", options={"tp": 2})
        first, second = (platform.wait_ready(each) and platform.instances(each)[0] for each in ("org/first", "second"))
        assert (first["simulated"], second["simulated"]) == (False, False)
        assert not set(first["devices"]) & set(second["devices"])
        assert [len(each["devices"]) for each in (first, second)] == [1, 2]

        answer = platform.chat("org/first", "hello")
        assert "said by MindIE" in answer["choices"][0]["message"]["content"]
        assert answer["model"] == "org/first"
        streamed = platform.api.post(
            "/v1/chat/completions",
            json={"model": "second", "stream": True, "messages": [{"role": "user", "content": "hello"}]},
            headers={"Authorization": f"Bearer {platform.key()}"},
        )
        assert streamed.text.rstrip().endswith("data: [DONE]")

        mindieservice_daemon.tell(state, busy=True)
        before = len(mindieservice_daemon.asked(state, "/v2/health/live"))
        for path in ("/stopService", "/v1/stopService", "/v1/models/second/stopService", "/v1/..%2fstopService"):
            for ask in (platform.api.get, platform.api.post):
                ask(path, headers={"Authorization": f"Bearer {platform.key()}"})
        platform.deploy("third", source=source, backend="mindie", options={"maxIterTimes": 50000})
        platform.until(lambda: platform.instances("third") and platform.instances("third")[0]["state"] == "failed", 60)
        assert "maxIterTimes = 50000" in platform.instances("third")[0]["state_message"]
        platform.until(lambda: len(mindieservice_daemon.asked(state, "/v2/health/live")) >= before + 8, 60)
        still = [platform.instances(each)[0] for each in ("org/first", "second")]
        assert [(each["state"], each["pid"]) for each in still] == [("ready", each["pid"]) for each in (first, second)]

        assert not mindieservice_daemon.asked(state, "/stopService")

        assert len(mindieservice_daemon.traces(state)) == 2 * 9
        for name in ("org/first", "second", "third"):
            assert platform.api.delete(f"/api/v1/models/{name.replace('/', '%2F')}").status_code == 204
        platform.until(lambda: not mindieservice_daemon.traces(state), 60)
        platform.until(lambda: not platform.api.get("/api/v1/instances").json()["items"], 60)
