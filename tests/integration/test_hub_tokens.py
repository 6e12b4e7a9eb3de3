"""A hub's token that the server keeps opens a repository on a worker, and is nowhere else to be found."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite import sealing
from gpustack_lite.ports import SystemRandomness
from tests.fakes.hub import Hub, running_hub
from tests.harness import Document, Platform, _spoken_of, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
CANARY = "hf_CANARYcanaryCANARYcanary"
SOURCE = "huggingface:org/closed"


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/closed", {"config.json": b"{}", "model.safetensors": b"x" * 5000}, token=CANARY)
        running.add("org/open", {"config.json": b"{}"})
        yield running


@pytest.fixture(scope="module")
def platform(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("platform")
    env = {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "hf"), "XDG_CACHE_HOME": str(folder / "cache")}
    with Platform(folder, env=env) as running:
        yield running


def own(platform: Platform, *arguments: str, given: str = "") -> str:
    done = cli(*arguments, env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)}, given=given)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def state_of(platform: Platform, source: str) -> str:
    items: list[Document] = platform.api.get("/api/v1/files").json()["items"]
    return next(str(each["state"]) for each in items if each["source"] == source)


def test_a_token_from_the_servers_keeping_opens_a_repository_and_is_seen_nowhere(hub: Hub, platform: Platform) -> None:
    platform.deploy("beside", backend="echo")
    platform.wait_ready("beside")
    said = [own(platform, "secrets", "set", "huggingface_token", given=f"{CANARY}\n")]
    own(platform, "files", "add", SOURCE)
    platform.until(lambda: state_of(platform, SOURCE) == "ready", seconds=60)
    said += [own(platform, "secrets", "list"), own(platform, "secrets", "list", "-o", "json")]
    said += [own(platform, "audit", "export"), own(platform, "events", "list", "-o", "json")]
    assert f"Bearer {CANARY}" in {each.headers.get("Authorization") for each in hub.seen}
    assert [CANARY in each for each in said] == [False] * len(said)
    assert CANARY[-4:] in said[1]
    assert platform.find_in_data_dir(CANARY) == []
    assert CANARY not in platform.output()
    spoken = [pid for pid in platform.processes() if CANARY.encode() in _spoken_of(pid)]
    assert spoken == []


def test_a_worker_gets_the_token_of_a_hub_it_has_to_do_with_and_no_other(platform: Platform) -> None:
    own(platform, "secrets", "set", "modelscope_token", given=f"{CANARY}\n")
    told = json.loads((platform.data_dir / "worker" / "identity.json").read_bytes())
    headers = {"Authorization": f"Bearer {told['credential']}"}
    path = "/api/agent/v1/hub-tokens"
    assert platform.api.get(f"{path}/modelscope", headers=headers).json() == {"token": None}
    assert platform.api.get(f"{path}/huggingface").status_code == 401


def test_a_rotated_key_is_found_again_after_the_server_was_killed(platform: Platform) -> None:
    own(platform, "secrets", "set", "modelscope_token", given=f"{CANARY}\n")
    own(platform, "secrets", "rotate-key")
    platform.kill("server")
    platform.wait_api()
    listed = json.loads(own(platform, "secrets", "list", "-o", "json"))["items"]
    assert [each["readable"] for each in listed if each["name"] == "modelscope_token"] == [True]


def test_a_key_that_is_given_seals_and_is_told_to_the_server_alone(tmp_path: Path) -> None:
    key = sealing.new_key(SystemRandomness())
    with Platform(tmp_path, env={"GPUSTACK_LITE_SECRET_KEY": key}) as given:
        own(given, "secrets", "set", "modelscope_token", given=f"{CANARY}\n")
        listed = json.loads(own(given, "secrets", "list", "-o", "json"))["items"]
        assert [each["readable"] for each in listed if each["is_set"]] == [True]
        assert not (given.data_dir / "secret_key").exists()
        told = {role: key.encode() in _spoken_of(given.pid(role) or 0) for role in ("server", "gateway", "worker")}
        assert told == {"server": True, "gateway": False, "worker": False}
