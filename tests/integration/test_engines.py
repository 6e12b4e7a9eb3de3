"""The engine installer with real uv, and the real llama.cpp under our runner with a real small model."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from backends.llama_cpp import LLAMA_CPP
from gpustack_lite.domain import BackendVersion, LaunchSpec
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts
from gpustack_lite.hub.demo import FILE_NAME, fetch_demo_model
from gpustack_lite.ports import Ports
from gpustack_lite.wire import Progress
from tests.fakes.gguf import write_tiny_gguf
from tests.fakes.real_engine import KEY, WHEEL, free_port, running, spec_of
from tests.fakes.smollm import smollm_path
from worker import engines

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
HEADERS = {"authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def engine(data_dir: Path) -> BackendVersion:
    return asyncio.run(engines.ensure(WHEEL, data_dir, Ports()))


def last_words(spec: LaunchSpec) -> list[str]:
    """What an engine writes that cannot start."""
    env = {**os.environ, **spec.env}
    done = subprocess.run(spec.argv, check=False, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    return done.stderr.splitlines()


# --- the installer ---


def test_an_engine_is_installed_into_an_environment_of_its_own(engine: BackendVersion, data_dir: Path) -> None:
    assert engine.installed
    assert engine.executable == str(engines.folder_of(WHEEL, data_dir) / "bin" / "python")
    said = Ports().processes.run([str(engine.executable), "-I", "-c", "import xllamacpp; print(xllamacpp.__name__)"])
    assert said.stdout.strip() == "xllamacpp"
    assert "xllamacpp" not in sys.modules


async def test_two_that_ask_at_once_install_once(tmp_path: Path) -> None:
    told: list[Progress] = []
    first, second = await asyncio.gather(*(engines.ensure(WHEEL, tmp_path, Ports(), told.append) for _ in range(2)))
    assert first == second
    assert told[0] == Progress(phase="engine")
    assert sorted(each.name for each in engines.folder_of(WHEEL, tmp_path).parent.iterdir() if each.is_dir()) == [
        f"llama_cpp-{WHEEL.version}"
    ]


async def test_a_crashed_installation_is_cleaned_and_repeated(tmp_path: Path) -> None:
    folder = engines.folder_of(WHEEL, tmp_path)
    (folder / "bin").mkdir(parents=True)
    (folder.with_name(f".{folder.name}.building") / "bin").mkdir(parents=True)
    leftover = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], engines.BUILD_MARK: str(folder)})
    try:
        made = await engines.ensure(WHEEL, tmp_path, Ports())
        assert made.installed
        assert leftover.wait(10) == -signal.SIGKILL
    finally:
        leftover.kill()
        leftover.wait()


async def test_what_no_index_has_fails_with_uvs_last_words(tmp_path: Path) -> None:
    missing = replace(WHEEL, version="0", requirement="xllamacpp==0.0.0.1")
    with pytest.raises(Refusal) as refused:
        await engines.ensure(missing, tmp_path, Ports())
    assert refused.value.code == "engine_install_failed"
    assert "xllamacpp" in str(refused.value.params["why"])
    assert engines.installed(missing, tmp_path, Ports()) is None


async def test_without_an_index_the_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{free_port()}/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(Refusal) as refused:
        await engines.ensure(WHEEL, tmp_path, Ports())
    assert refused.value.code == "engine_install_offline"


async def test_an_installation_that_is_given_up_leaves_no_process(tmp_path: Path) -> None:
    installing = asyncio.create_task(engines.ensure(WHEEL, tmp_path, Ports()))
    folder = engines.folder_of(WHEEL, tmp_path)
    while not Ports().processes.marked(engines.BUILD_MARK, str(folder)):
        assert not installing.done()
        await asyncio.sleep(0.001)
    installing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await installing
    assert not Ports().processes.marked(engines.BUILD_MARK, str(folder))


def test_the_demo_model_is_fetched_once() -> None:
    path = smollm_path()
    before = path.stat().st_mtime_ns
    assert path.name == FILE_NAME
    assert fetch_demo_model(path.parent, Ports()).stat().st_mtime_ns == before
    assert facts.read(path, [path.parent]).architecture == "llama"


# --- the engine ---


@pytest.fixture(scope="module")
def smol(engine: BackendVersion, data_dir: Path) -> Iterator[httpx.Client]:
    spec = spec_of(engine, smollm_path(), data_dir, **{"max-model-len": 2048})
    with running(spec, data_dir / "smol.log") as (client, _):
        yield client


def test_a_chat_is_answered_in_a_stream_under_the_public_name(smol: httpx.Client) -> None:
    body = {
        "model": "smol",
        "messages": [{"role": "user", "content": "What is the capital of France? Answer in one word."}],
        "max_tokens": 16,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with smol.stream("POST", "/v1/chat/completions", json=body, headers=HEADERS) as answer:
        assert answer.status_code == 200
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    assert {chunk["model"] for chunk in chunks} == {"smol"}
    text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert "Paris" in text
    assert chunks[-1]["usage"]["completion_tokens"] > 0


def test_one_request_may_use_the_whole_context_that_is_advertised(smol: httpx.Client) -> None:
    (model,) = smol.get("/v1/models", headers=HEADERS).json()["data"]
    assert (model["id"], model["meta"]["n_ctx"]) == ("smol", 2048)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/rerank"])
def test_what_the_model_was_not_started_for_is_refused(smol: httpx.Client, path: str) -> None:
    answer = smol.post(path, json={"input": "x", "query": "x", "documents": ["a"]}, headers=HEADERS)
    assert answer.status_code == 501


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}], ids=["no key", "wrong key"])
def test_the_wrong_key_is_refused_while_health_stays_open(smol: httpx.Client, headers: dict[str, str]) -> None:
    body = {"messages": [{"role": "user", "content": "x"}]}
    assert smol.post("/v1/chat/completions", json=body, headers=headers).status_code == 401
    assert smol.get("/health", headers=headers).status_code == 200


def test_a_tiny_model_embeds_and_the_engine_ends_at_once(engine: BackendVersion, tmp_path: Path) -> None:
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    spec = spec_of(engine, model, tmp_path, embeddings=True, pooling="mean")
    with running(spec, tmp_path / "log") as (client, process):
        answer = client.post("/v1/embeddings", json={"input": ["hello", "world"]}, headers=HEADERS)
        assert [len(each["embedding"]) for each in answer.json()["data"]] == [64, 64]
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == -signal.SIGTERM


async def test_a_probe_is_answered_while_many_requests_wait(engine: BackendVersion, tmp_path: Path) -> None:
    spec = spec_of(engine, write_tiny_gguf(tmp_path / "tiny.gguf"), tmp_path)
    body = {"prompt": "hello", "max_tokens": 500, "ignore_eos": True}
    limits = httpx.Limits(max_connections=None)
    with running(spec, tmp_path / "log") as (client, _):
        async with httpx.AsyncClient(base_url=client.base_url, headers=HEADERS, limits=limits, timeout=60) as many:
            waiting = [asyncio.create_task(many.post("/v1/completions", json=body)) for _ in range(120)]
            await asyncio.wait(waiting, timeout=0.5)
            assert {(await many.get("/health", timeout=15)).status_code for _ in range(5)} == {200}
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        pytest.param("truncated", "engine_file_truncated", id="truncated after it was looked at"),
        pytest.param("junk", "engine_file_invalid", id="replaced by something else"),
        pytest.param("gone", "engine_file_missing", id="deleted"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_named_in_one_line(
    engine: BackendVersion, tmp_path: Path, damage: str, code: str
) -> None:
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    spec = spec_of(engine, model, tmp_path)
    match damage:
        case "truncated":
            os.truncate(model, model.stat().st_size // 2)
        case "junk":
            model.write_bytes(b"junk" * 1000)
        case "gone":
            model.unlink()
    lines = last_words(spec)
    assert any(line.startswith("xllamacpp_server: ") for line in lines[-5:])  # the engine's own threads may end later
    sentence = LLAMA_CPP.last_error(lines)
    assert sentence is not None
    assert sentence.code == code


def test_a_port_in_use_is_said(engine: BackendVersion, tmp_path: Path) -> None:
    spec = spec_of(engine, write_tiny_gguf(tmp_path / "tiny.gguf"), tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", spec.port))
        taken.listen()
        lines = last_words(spec)
    sentence = LLAMA_CPP.last_error(lines)
    assert sentence is not None
    assert sentence.code == "engine_port_in_use"
