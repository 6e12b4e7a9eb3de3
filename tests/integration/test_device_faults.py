"""The whole way of a fault: npu-smi tells a code, the worker at once, the server drains and places again."""

import os
import sys
from pathlib import Path

import pytest

from tests.fakes import npu_smi, playing
from tests.harness import Document, Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
ENGINE = Path(__file__).parents[1] / "fakes" / "hanging_engine.py"
SICK = {"health": "Alarm", "codes": ["8C03A000"]}
WELL = {"health": "OK", "codes": []}


def machine(first: dict[str, object]) -> dict[str, object]:
    described = npu_smi.a2(2)
    described["cards"][0]["chips"][0] |= first
    return described


def test_what_runs_on_a_card_that_becomes_sick_is_drained_and_placed_on_another(tmp_path: Path) -> None:
    state = npu_smi.install(tmp_path / "bin", machine(WELL))
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    with Platform(tmp_path, env=env) as platform:
        command = [sys.executable, str(ENGINE), "--port", "{port}", "--hangs", str(tmp_path / "never")]
        claim = {"device_count": 1, "bytes_per_device": 1 << 30, "ram_bytes": 50_000_000}
        spec: Document = {"name": "engine", "command": command, "device_kinds": ["ascend"], "claim": claim}
        platform.create_backend(spec | {"paths": ["/v1/chat/completions"]})
        platform.deploy("m", backend="engine", placement={"devices": []})
        platform.wait_ready("m")
        assert _cards(platform) == {0}
        playing.describe(state, machine(SICK))
        platform.until(lambda: platform.model("m")["state"] == "ready" and _cards(platform) == {1}, seconds=60)
        sick = platform.api.get("/api/v1/devices").json()["items"][0]
        assert (sick["fault"]["action"], sick["isolated"]["code"], sick["schedulable"]) == (
            "isolate",
            "8C03A000",
            False,
        )
        told = platform.api.get("/api/v1/events").json()["items"]
        (isolated,) = [each for each in told if each["code"] == "device_isolated"]
        assert "8C03A000" in isolated["message"]
        assert [each["params"]["instances"] for each in told if each["kind"] == "device_fault"] == [1]


def _cards(platform: Platform) -> set[int]:
    """Where its replicas are that are no longer ending."""
    living = [each for each in platform.instances("m") if each["state"] == "ready"]
    return {int(address.rpartition(":")[2]) for each in living for address in each["devices"]}
