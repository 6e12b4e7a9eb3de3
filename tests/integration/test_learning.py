"""The real llama.cpp: what the first load took is what the second one claims."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.smollm import smollm_path
from tests.harness import Platform, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
OPTIONS = {"max-model-len": 1024, "parallel": 1}
WAIT = 120.0


def test_the_second_load_claims_what_the_first_one_took(tmp_path: Path) -> None:
    source = str(smollm_path())
    with Platform(tmp_path) as platform:
        platform.deploy("smol", source=source, options=OPTIONS)
        platform.wait_ready("smol", WAIT)
        first = platform.until(lambda: measured_of(platform), 60)
        assert first["memory"]["is_measured"] is False
        assert first["measured"]["kv_bytes"] == first["memory"]["kv_bytes"]
        assert first["measured"]["ram_bytes"] < first["claim"]["ram_bytes"]
        shown = cli(
            "instances", "show", str(first["id"]), env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)}
        ).stdout
        assert "held in RAM by its processes" in shown
        platform.api.post("/api/v1/models/smol/stop").raise_for_status()
        platform.until(lambda: not platform.instances("smol"), 60)

        told = evaluated(platform, source)
        assert told["memory"]["is_measured"] is True
        assert told["memory"]["figures"]["code"] == "memory_measured"
        assert evaluated(platform, source, **{"cache-type-k": "q8_0"})["memory"]["is_measured"] is False

        platform.api.post("/api/v1/models/smol/start").raise_for_status()
        platform.wait_ready("smol", WAIT)
        second = platform.instances("smol")[0]
        assert second["memory"]["is_measured"] is True
        assert second["memory"]["measured_on"] == second["worker"]
        assert first["measured"]["ram_bytes"] < second["claim"]["ram_bytes"] < first["claim"]["ram_bytes"] * 1.03
        assert second["claim"]["ram_bytes"] == told["memory"]["ram_bytes"]


def measured_of(platform: Platform) -> dict[str, Any] | None:
    found = platform.instances("smol")[0]
    return found if found["measured"] and found["measured"]["ram_bytes"] else None


def evaluated(platform: Platform, source: str, **more: object) -> dict[str, Any]:
    body = {"source": source, "options": OPTIONS | more}
    answer: dict[str, Any] = platform.api.post("/api/v1/evaluate", json=body).raise_for_status().json()
    return answer
