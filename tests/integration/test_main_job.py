"""The whole path with real parts: a real engine, a real model, OpenAI's own client, processes killed for real."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from tests.fakes.smollm import smollm_path
from tests.harness import Platform, is_running

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
QUESTION = [{"role": "user", "content": "Say hello to Ada."}]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """One platform with SmolLM2 on llama.cpp, ready."""
    model = smollm_path()
    with Platform(tmp_path_factory.mktemp("platform"), model_roots=[model.parent]) as running:
        running.deploy("smol", source=str(model), options={"max-model-len": 2048, "threads": 1})
        running.wait_ready("smol", seconds=240)
        yield running


@pytest.fixture(scope="module")
def client(platform: Platform) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{platform.url}/v1", api_key=platform.key(), max_retries=0) as each:
        yield each


def stream(client: openai.OpenAI, tokens: int = 32) -> Iterator[str]:
    chunks = client.chat.completions.create(model="smol", messages=QUESTION, stream=True, max_tokens=tokens)
    yield from (chunk.choices[0].delta.content or "" for chunk in chunks)


def engine(platform: Platform) -> dict[str, object]:
    (instance,) = platform.instances("smol")
    return instance


def engine_pid(platform: Platform) -> int:
    return int(str(engine(platform)["pid"]))


def is_ready_with_another_pid(instance: dict[str, object], old: int) -> bool:
    return instance["state"] == "ready" and instance["pid"] not in {None, old}


class Streaming:
    """A long stream read in a thread; `join` answers with its text or raises what broke it."""

    def __init__(self, client: openai.OpenAI, tokens: int = 150) -> None:
        self._text: list[str] = []
        self._error: BaseException | None = None
        self.started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(client, tokens))
        self._thread.start()
        assert self.started.wait(60)

    def _run(self, client: openai.OpenAI, tokens: int) -> None:
        try:
            chunks = client.chat.completions.create(
                model="smol", messages=QUESTION, stream=True, max_tokens=tokens, extra_body={"ignore_eos": True}
            )
            for chunk in chunks:
                self._text.append(chunk.choices[0].delta.content or "")
                if len(self._text) == 3:
                    self.started.set()
        except Exception as error:  # noqa: BLE001
            self._error = error
        self.started.set()

    def join(self) -> str:
        self._thread.join(120)
        assert not self._thread.is_alive()
        assert self._error is None, self._error
        return "".join(self._text)


def test_a_plain_answer_names_the_model_and_counts_tokens(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="smol", messages=QUESTION, max_tokens=16)
    assert answer.model == "smol"
    assert answer.choices[0].message.content
    assert answer.usage is not None
    assert answer.usage.completion_tokens > 0


def test_a_streamed_answer_never_shows_a_frame_that_was_not_asked_for(client: openai.OpenAI) -> None:
    assert "".join(stream(client)).strip()


def test_the_same_request_streamed_and_plain_says_the_same(client: openai.OpenAI) -> None:
    plain = client.chat.completions.create(model="smol", messages=QUESTION, max_tokens=16, temperature=0, seed=1)
    chunks = client.chat.completions.create(
        model="smol", messages=QUESTION, max_tokens=16, temperature=0, seed=1, stream=True
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == plain.choices[0].message.content


def test_completions_and_models_are_served(client: openai.OpenAI) -> None:
    assert client.completions.create(model="smol", prompt="One, two,", max_tokens=4).choices[0].text
    assert [model.id for model in client.models.list()] == ["smol"]
    assert client.models.retrieve("smol").id == "smol"


def test_what_the_engine_does_not_serve_is_told_with_the_models_name(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="smol"):
        client.embeddings.create(model="smol", input="x")


def test_a_prompt_that_is_too_long_has_openais_code(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(
            model="smol", messages=[{"role": "user", "content": "word " * 9000}], max_tokens=4
        )
    assert refused.value.code == "context_length_exceeded"


def test_unknown_model_bad_key_and_forbidden_model_are_three_errors(platform: Platform, client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="nope", messages=QUESTION)
    assert missing.value.code == "model_not_found"
    for key, error in (
        ("gpl_wrong", openai.AuthenticationError),
        (platform.key(models=["other-*"]), openai.PermissionDeniedError),
    ):
        with openai.OpenAI(base_url=f"{platform.url}/v1", api_key=key, max_retries=0) as other, pytest.raises(error):
            other.chat.completions.create(model="smol", messages=QUESTION)


def test_a_client_that_leaves_frees_the_engine(platform: Platform, client: openai.OpenAI) -> None:
    chunks = client.chat.completions.create(
        model="smol", messages=QUESTION, stream=True, max_tokens=1000, extra_body={"ignore_eos": True}
    )
    next(iter(chunks))
    chunks.close()
    platform.until(lambda: platform.metric("gpustack_lite_requests_in_flight") == 0, seconds=5)
    aborted = platform.until(lambda: [row for row in platform.requests(model="smol") if row["partial"]], seconds=15)
    assert aborted[0]["completion_tokens"] >= 1


def test_usage_is_counted_for_plain_and_streamed_requests_alike(platform: Platform) -> None:
    with openai.OpenAI(base_url=f"{platform.url}/v1", api_key=platform.key(name="counted"), max_retries=0) as counted:
        told = counted.chat.completions.create(
            model="smol", messages=QUESTION, max_tokens=8, temperature=0, extra_body={"ignore_eos": True}
        ).usage
        list(
            counted.chat.completions.create(
                model="smol", messages=QUESTION, max_tokens=8, stream=True, extra_body={"ignore_eos": True}
            )
        )
    assert told is not None
    row = platform.until(
        lambda: next((r for r in platform.usage(by="key") if r["key"] == "counted" and r["requests"] == 2), None),
        seconds=15,
    )
    assert (row["prompt_tokens"], row["completion_tokens"]) == (2 * told.prompt_tokens, 2 * told.completion_tokens)


def test_a_killed_engine_comes_back_alone_and_its_old_log_is_kept(platform: Platform, client: openai.OpenAI) -> None:
    old = engine_pid(platform)
    os.kill(old, signal.SIGKILL)
    platform.until(lambda: is_ready_with_another_pid(engine(platform), old), seconds=60)
    assert not is_running(old)
    assert platform.api.get(f"/api/v1/instances/{engine(platform)['id']}/logs", params={"attempt": 1}).text
    assert "".join(stream(client)).strip()


def test_a_killed_worker_leaves_the_engine_and_its_streams_alone(platform: Platform, client: openai.OpenAI) -> None:
    before = engine_pid(platform)
    streaming = Streaming(client)
    platform.kill("worker", signal.SIGKILL)
    platform.until(lambda: platform.pid("worker") is not None and engine(platform)["state"] == "ready", seconds=30)
    assert streaming.join()
    assert engine_pid(platform) == before


def test_a_killed_server_breaks_no_stream_serves_new_requests_and_gets_the_usage_once(platform: Platform) -> None:
    with openai.OpenAI(base_url=f"{platform.url}/v1", api_key=platform.key(name="outage"), max_retries=0) as client:
        streaming = Streaming(client)
        old = platform.pid("server")
        platform.kill("server", signal.SIGKILL)
        assert "".join(stream(client)).strip()
        assert streaming.join()
        platform.until(lambda: platform.pid("server") not in {None, old}, seconds=30)
        platform.wait_api(seconds=30)
        row = platform.until(
            lambda: next((r for r in platform.usage(by="key") if r["key"] == "outage" and r["requests"] >= 2), None),
            seconds=30,
        )
    assert row["requests"] == 2


def test_sighup_runs_the_code_anew_and_nobody_notices(platform: Platform, client: openai.OpenAI) -> None:
    before, roles = engine_pid(platform), {role: platform.pid(role) for role in ("server", "gateway-0", "worker")}
    streaming = Streaming(client)
    platform.signal(signal.SIGHUP)
    platform.until(lambda: all(platform.pid(role) not in {None, pid} for role, pid in roles.items()), seconds=60)
    assert "".join(stream(client)).strip()
    assert streaming.join()
    platform.wait_ready("smol", seconds=60)
    assert engine_pid(platform) == before


async def test_a_hundred_requests_at_once_all_get_an_answer(platform: Platform) -> None:
    async with openai.AsyncOpenAI(base_url=f"{platform.url}/v1", api_key=platform.key(), max_retries=0) as client:
        answers = await asyncio.gather(
            *(client.completions.create(model="smol", prompt="a", max_tokens=2) for _ in range(100))
        )
    assert all(answer.usage and answer.usage.completion_tokens for answer in answers)


def test_no_credential_is_in_a_log_or_a_process_list(platform: Platform, client: openai.OpenAI) -> None:
    canary = platform.key(name="canary")
    httpx.get(f"{platform.url}/api/v1/models", headers={"Authorization": f"Bearer {canary}x"})
    list(stream(client))
    assert platform.find_in_data_dir(canary) == []
    arguments = "".join(path.read_text(errors="replace") for path in Path("/proc").glob("[0-9]*/cmdline"))
    assert canary not in arguments


def test_stopping_ends_every_process_engines_included(tmp_path: Path) -> None:
    model = smollm_path()
    with Platform(tmp_path, model_roots=[model.parent]) as running:
        running.deploy("gone", source=str(model), options={"threads": 1})
        running.wait_ready("gone", seconds=240)
        pids = running.processes()
        assert len(pids) >= 5
        running.stop()
        assert [pid for pid in pids if is_running(pid)] == []
