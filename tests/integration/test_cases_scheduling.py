"""B09 and B11 through the whole platform, with declared devices and a real engine that dies."""

from pathlib import Path

import pytest

from gpustack_lite.chips import GIB
from tests.harness import Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
FOURTEEN = {"device-count": 1, "bytes-per-device": 14 * GIB}


def deploy(platform: Platform, name: str, **options: object) -> None:
    platform.deploy(name, source="none:", backend="echo", options=FOURTEEN | options)


def test_two_models_at_once_never_get_the_same_memory(tmp_path: Path) -> None:
    """B09: of two identical models exactly one is placed; when it goes, the other starts."""
    with Platform(tmp_path, simulate="1x910B3-24G") as platform:
        for round_number in range(5):
            names = [f"first-{round_number}", f"second-{round_number}"]
            platform.together(*(lambda name=name: deploy(platform, name) for name in names))
            states = platform.until(lambda names=names: settled(platform, names), seconds=30)
            (placed,) = (name for name, instance in states.items() if instance["state"] == "ready")
            (waiting,) = (name for name in names if name != placed)
            reason = states[waiting]["reasons"][0]
            assert reason["needed_bytes"] == 14 * GIB
            assert 8 * GIB < reason["free_bytes"] < 10.1 * GIB
            assert "14 GiB" in reason["message"]
            platform.api.delete(f"/api/v1/models/{placed}")
            platform.wait_ready(waiting, seconds=10)
            platform.api.delete(f"/api/v1/models/{waiting}")
            platform.until(lambda: not platform.api.get("/api/v1/instances").json()["items"], seconds=20)


def settled(platform: Platform, names: list[str]) -> dict[str, dict[str, object]] | None:
    found = {name: platform.instances(name) for name in names}
    if any(len(instances) != 1 for instances in found.values()):
        return None
    first = {name: instances[0] for name, instances in found.items()}
    states = sorted(str(instance["state"]) for instance in first.values())
    return first if states == ["pending", "ready"] and any(i["reasons"] for i in first.values()) else None


def test_an_engine_that_dies_for_good_frees_its_claim(tmp_path: Path) -> None:
    """B11: the claim stays while it is tried again, and is free within 10 s after the last attempt."""
    with Platform(tmp_path, ram_bytes=16 * GIB, env={"GPUSTACK_LITE_RESTART_BACKOFF_SECONDS": "0.3"}) as platform:
        claim = {"device_count": 0, "bytes_per_device": 0, "ram_bytes": 9 * GIB}
        platform.create_backend(
            {
                "name": "dies",
                "command": ["/bin/sh", "-c", "echo LAST-WORDS; exit 1"],
                "device_kinds": ["cpu"],
                "claim": claim,
            }
        )
        platform.deploy("broken", source="none:", backend="dies", restart_limit=3)
        platform.until(lambda: [i for i in platform.instances("broken") if i["gave_up"]], seconds=60)
        platform.deploy("second", source="none:", backend="echo", options={"ram-bytes": 9 * GIB})
        platform.wait_ready("second", seconds=30)
        (broken,) = platform.instances("broken")
        assert (broken["state"], broken["attempt"]) == ("failed", 3)
        assert "LAST-WORDS" in broken["state_message"]
        assert platform.model("broken")["state"] == "failed"
        platform.api.post("/api/v1/models/second/stop")
        platform.until(lambda: not platform.instances("second"), seconds=20)
        platform.api.post("/api/v1/models/broken/start")
        platform.until(lambda: [i for i in platform.instances("broken") if i["id"] != broken["id"]], seconds=20)


@pytest.mark.parametrize("first", [1, 2])
def test_a_simulated_device_says_so_everywhere(tmp_path: Path, first: int) -> None:
    with Platform(tmp_path, simulate=f"{first}x910B3-64G") as platform:
        deploy(platform, "echo")
        platform.wait_ready("echo", seconds=30)
        devices = platform.api.get("/api/v1/devices").json()["items"]
        assert [(d["chip"], d["memory_total_bytes"], d["simulated"]) for d in devices] == [
            ("910B3", 64 * GIB, True)
        ] * first
        assert sum(d["memory_claimed_bytes"] for d in devices) == 14 * GIB
        assert platform.instances("echo")[0]["simulated"] is True
        answer = platform.chat("echo", "hello")
        assert "simulated" in str(answer)
