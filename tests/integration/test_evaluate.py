"""B13 through the whole platform: told before anything is launched, with its numbers; and a decision answered again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.chips import GIB
from tests.harness import Platform, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
CONFIGS = json.loads((Path(__file__).parents[1] / "fixtures" / "configs.json").read_text())


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    models = tmp_path_factory.mktemp("models")
    (models / "config.json").write_text(json.dumps(CONFIGS["Qwen3-14B"]))
    with Platform(tmp_path_factory.mktemp("platform"), model_roots=[models], simulate="1x910B4-32G") as running:
        running.models = models  # type: ignore[attr-defined]
        yield running


def test_a_model_that_fills_the_card_with_its_weights_is_refused_with_its_numbers(platform: Platform) -> None:
    source = str(platform.models)  # type: ignore[attr-defined]
    body = {"source": source, "backend": "vllm_ascend", "options": {"max-model-len": 4096}}
    found = platform.api.post("/api/v1/evaluate", json=body).json()
    params = found["reasons"][0]["params"]
    assert found["fits"] is False
    assert params["budget_bytes"] / GIB == pytest.approx(28.8, rel=0.03)
    assert params["weights_bytes"] / GIB == pytest.approx(27.51, rel=0.03)
    assert params["cache_bytes"] / GIB == pytest.approx(0.63, rel=0.03)
    assert [each["code"] for each in found["remedies"]] == ["join_worker_with_devices"]


def test_the_command_asks_the_server_and_ends_with_1(platform: Platform) -> None:
    env = {"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)}
    done = cli("evaluate", str(platform.models), "--option", "max-model-len=4096", env=env)  # type: ignore[attr-defined]
    assert done.returncode == 1, done.stderr
    assert "28.8 GiB" in done.stdout


def test_a_pending_instance_has_the_same_numbers_and_its_decision_is_answered_again(
    platform: Platform, tmp_path: Path
) -> None:
    source = str(platform.models)  # type: ignore[attr-defined]
    platform.deploy("big", source=source, backend="vllm_ascend", options={"max-model-len": 4096})
    (instance,) = platform.until(lambda: [i for i in platform.instances("big") if i["reasons"]], seconds=30)
    assert instance["reasons"][0]["params"]["budget_bytes"] / GIB == pytest.approx(28.8, rel=0.03)
    assert "28.8 GiB" in instance["state_message"]
    decision = platform.api.get(f"/api/v1/instances/{instance['id']}/decision").json()
    (tmp_path / "decision.json").write_text(json.dumps(decision))
    again = cli("simulate", "--replay", str(tmp_path / "decision.json"))
    assert again.returncode == 0, again.stdout + again.stderr
    shown = cli("instances", "show", str(instance["id"]), env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)})
    assert "join" in shown.stdout.lower()
