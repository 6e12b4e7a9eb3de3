"""Does a model of a hub fit? Answered before anything is downloaded: by the command alone, and through a worker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.chips import GIB
from tests.fakes.gguf import write_tiny_gguf
from tests.fakes.hub import Hub, running_hub
from tests.harness import Platform, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
CONFIG = json.loads((Path(__file__).parents[1] / "fixtures" / "configs.json").read_text())["Qwen3-14B"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("ggufs")
    files = {f"m-{name}.gguf": write_tiny_gguf(folder / name, seed=None) for name in ("Q8_0", "Q4_K_M")}
    with running_hub() as running:
        running.add("org/name", {"config.json": CONFIG, "README.md": b"of a model"})
        running.add("org/gguf", files)
        running.add("org/gated", {"config.json": CONFIG}, token="secret-token", gated=True)
        yield running


def environ(hub: Hub, folder: Path) -> dict[str, str]:
    return {
        "HF_ENDPOINT": hub.url,
        "MODELSCOPE_ENDPOINT": hub.url,
        "HF_HOME": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "HF_TOKEN": "",
        "HF_HUB_OFFLINE": "",
    }


@pytest.mark.parametrize("source", ["huggingface:org/name", "modelscope:org/name@master"])
def test_the_command_answers_without_a_server(hub: Hub, tmp_path: Path, source: str) -> None:
    done = cli("evaluate", source, "--simulate", "8x910B3-64G", "-o", "json", env=environ(hub, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["backend"], found["placement"]["worker"]) == ("vllm_ascend", "simulated")
    assert found["memory"]["weights_bytes"] / GIB == pytest.approx(27.5, rel=0.03)
    assert found["revision"] == hub.repos["org/name"].commit
    assert found["download_bytes"] == len(json.dumps(CONFIG)) + len("of a model")


def test_the_chosen_file_is_named_and_offline_the_answer_stays(hub: Hub, tmp_path: Path) -> None:
    command = ("evaluate", "huggingface:org/gguf", "--simulate", "1xA100-80G")
    first = cli(*command, env=environ(hub, tmp_path))
    assert "m-Q4_K_M.gguf" in first.stdout, first.stdout + first.stderr
    away = environ(hub, tmp_path) | {"HF_HUB_OFFLINE": "1"}
    assert cli(*command, env=away).stdout == first.stdout
    unknown = cli("evaluate", "huggingface:org/name", "--simulate", "1xA100-80G", env=away)
    assert (unknown.returncode, "offline" in unknown.stderr) == (1, True)


@pytest.fixture(scope="module")
def platform(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("platform")
    with Platform(folder, simulate="8x910B3-64G", env=environ(hub, folder)) as running:
        yield running


def test_a_worker_asks_the_hub(platform: Platform, hub: Hub) -> None:
    body = {"source": "huggingface:org/name", "source_revision": "v1.0", "options": {"max-model-len": 4096}}
    found = platform.api.post("/api/v1/evaluate", json=body).json()
    assert (found["fits"], found["backend"], found["revision"]) == (True, "vllm_ascend", hub.repos["org/name"].commit)
    assert found["disk_free_bytes"] > found["download_bytes"] > 0
    assert any("/revision/v1.0" in path for path in hub.paths())


def test_patterns_choose_through_a_worker(platform: Platform) -> None:
    body = {"source": "modelscope:org/gguf", "include": ["*Q8_0*"], "backend": "llama_cpp"}
    assert platform.api.post("/api/v1/evaluate", json=body).json()["files"] == ["m-Q8_0.gguf"]


def test_a_model_of_a_hub_is_deployed_by_its_source(platform: Platform) -> None:
    """On simulated devices, where nothing is fetched; a patch of the revision makes a new generation."""
    options = {"max-model-len": 4096}
    platform.deploy("of-hub", source="huggingface:org/name", source_revision="v1.0", options=options)
    platform.wait_ready("of-hub")
    model = platform.api.patch("/api/v1/models/of-hub", json={"source_revision": "main"}).json()
    assert (model["source_revision"], model["generation"]) == ("main", 2)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param({"source": "huggingface:org/gated"}, "hub_gated", id="gated"),
        pytest.param({"source": "huggingface:org/name@v9"}, "hub_revision_missing", id="no such revision"),
        pytest.param({"source": "http://127.0.0.1:1/m.gguf"}, "url_host_not_allowed", id="a host nobody allowed"),
        pytest.param({"source": "huggingface:../etc"}, "source_repository_invalid", id="no repository"),
        pytest.param({"source": "/m", "source_revision": "v1"}, "source_revision_without_hub", id="of a path"),
        pytest.param(
            {"source": "huggingface:o/n@a", "source_revision": "b"}, "source_revision_twice", id="two revisions"
        ),
        pytest.param({"source": "huggingface:o/n", "include": ["../x"]}, "include_invalid", id="pattern upwards"),
    ],
)
def test_what_cannot_be_known_is_said_in_a_sentence(platform: Platform, body: dict[str, object], code: str) -> None:
    answer = platform.api.post("/api/v1/evaluate", json=body)
    assert (answer.status_code >= 400, answer.json()["error"]["code"]) == (True, code)
    assert "secret-token" not in answer.text
