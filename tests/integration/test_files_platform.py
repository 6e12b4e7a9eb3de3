"""A model from a hub, with everything real but the hub: placed, fetched, killed in the middle, served, deleted."""

import threading
from collections.abc import Iterator

import pytest

from tests.fakes.hub import Hub, running_hub
from tests.fakes.smollm import smollm_path
from tests.harness import Document, Platform, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
SOURCE = "huggingface:org/smol"
OPTIONS = {"max-model-len": 1024, "threads": 1}


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/smol", {"smol-q4_1.gguf": smollm_path()})
        running.add("org/closed", {"smol-q4_1.gguf": smollm_path()}, token="secret", gated=True)
        yield running


@pytest.fixture(scope="module")
def platform(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("platform")
    env = {"HF_ENDPOINT": hub.url, "XDG_CACHE_HOME": str(folder / "cache")}
    with Platform(folder, env=env) as running:
        yield running


def files(platform: Platform) -> list[Document]:
    items: list[Document] = platform.api.get("/api/v1/files").json()["items"]
    return items


def ranges(hub: Hub) -> list[str]:
    asked = [each.headers.get("Range") for each in hub.seen if each.path.startswith("/cdn/org/smol/")]
    return [each for each in asked if each is not None and each.endswith("-") and each != "bytes=0-"]


def some_came(platform: Platform) -> Document | None:
    found = files(platform)
    return found[0] if found and (found[0]["done_bytes"] or 0) >= smollm_path().stat().st_size * 2 // 5 else None


def test_a_model_of_a_hub_serves_though_its_worker_was_killed_in_the_download(hub: Hub, platform: Platform) -> None:
    """D05: nothing that the killed one left behind is in the way."""
    hub.faults.stall, hub.faults.stall_above = threading.Event(), 32 * 1024**2
    platform.deploy("tiny", source=SOURCE, options=OPTIONS)
    row = platform.until(lambda: some_came(platform), seconds=120)
    assert (row["state"], row["format"], row["instances"][0]["model"]) == ("downloading", "gguf", "tiny")
    platform.kill("worker")
    hub.faults.stall.set()
    platform.wait_ready("tiny", seconds=200)
    assert len(ranges(hub)) == 1
    answer = platform.chat("tiny", "Say hello.", max_tokens=8)
    assert answer["usage"]["completion_tokens"] > 0
    (ready,) = files(platform)
    assert (ready["state"], ready["done_bytes"]) == ("ready", smollm_path().stat().st_size)
    assert ready["path"].startswith(str(platform.data_dir / "models" / "huggingface" / "models--org--smol"))
    they_are_deleted_when_no_instance_needs_them(platform, ready)


def they_are_deleted_when_no_instance_needs_them(platform: Platform, row: Document) -> None:
    refused = platform.api.delete(f"/api/v1/files/{row['id']}")
    assert refused.status_code == 409
    assert "tiny" in refused.json()["error"]["message"]
    platform.api.post("/api/v1/models/tiny/stop")
    platform.until(lambda: not platform.instances("tiny"), seconds=60)
    done = cli("files", "delete", str(row["id"]), env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)})
    assert done.returncode == 0, done.stderr
    platform.until(lambda: not files(platform), seconds=60)
    assert not list((platform.data_dir / "models").rglob("*.gguf"))


def test_a_gated_repository_is_refused_with_the_setting_that_opens_it(platform: Platform) -> None:
    answer = platform.api.post("/api/v1/models", json={"name": "closed", "source": "huggingface:org/closed"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "hub_gated"
    assert "HF_TOKEN" in error["message"]
