"""Directories of weights on declared cards: from config.json to a ready instance, or to the reason why not."""

import json
from pathlib import Path

import pytest

from tests.harness import Platform
from tests.unit.backends.models import CONFIGS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


def directory(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "config.json").write_text(json.dumps(CONFIGS[name]))
    return made


def test_models_of_the_usual_sizes_on_eight_cards_of_64_gib(tmp_path: Path) -> None:
    """Qwen3-32B needs two cards; Qwen3-14B one, or two where they are picked by hand; three are refused at once."""
    roots = tmp_path / "models"
    large, small = directory(roots, "Qwen3-32B"), directory(roots, "Qwen3-14B")
    with Platform(tmp_path, simulate="8x910B3-64G", model_roots=[roots]) as platform:
        platform.deploy("large", source=str(large))
        platform.deploy("small", source=str(small))
        hand = {"devices": [f"{name(platform)}:6", f"{name(platform)}:7"]}
        platform.deploy("by-hand", source=str(small), placement=hand)
        platform.deploy("mindie", source=str(small), backend="mindie")
        names = ("large", "small", "by-hand", "mindie")
        for each in names:
            platform.wait_ready(each)
        assert [len(platform.instances(each)[0]["devices"]) for each in names] == [2, 1, 2, 1]
        assert platform.instances("mindie")[0]["launch"]["files"] == ["config.json", "model/config.json"]
        (instance,) = platform.instances("large")
        assert instance["simulated"] is True
        assert instance["context_length"] == 40960
        assert instance["launch"]["backend"] == "vllm_ascend"
        assert "--tensor-parallel-size=2" in instance["launch"]["argv"]
        assert "ASCEND_RT_VISIBLE_DEVICES" in instance["launch"]["env"]
        assert "simulated" in str(platform.chat("large", "hello"))
        three = {"devices": [f"{name(platform)}:{index}" for index in (3, 4, 5)]}
        body = {"name": "three", "source": str(large), "placement": three}
        refused = platform.api.post("/api/v1/models", json=body)
        assert refused.status_code == 400
        assert "64 attention heads, which 3 devices" in refused.text


def name(platform: Platform) -> str:
    worker: str = platform.api.get("/api/v1/workers").json()["items"][0]["name"]
    return worker
