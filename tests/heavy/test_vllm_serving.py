"""vLLM itself, on the CPU, through the whole platform: text, tools, adapters, embeddings, two ranks, and its end."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes.vllm_python import vllm_model, vllm_python
from tests.harness import Platform
from tests.heavy.conftest import own_ports

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.timeout(3600)]
READY_SECONDS = 900
TEMPLATE = """{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% if tools and loop.first %}
Answer with <tool_call>{"name": ..., "arguments": ...}</tool_call>. Functions: {{ tools | tojson }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """One worker, on whose PATH a link leads to vLLM's program."""
    folder = tmp_path_factory.mktemp("vllm")
    (folder / "bin").mkdir()
    (folder / "bin" / "vllm").symlink_to(vllm_python().with_name("vllm"))
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    roots = [vllm_model("smollm").parent]
    env = own_ports() | {"PATH": path, "GPUSTACK_LITE_RESTART_BACKOFF_SECONDS": "1"}
    with Platform(folder, model_roots=roots, env=env) as made:
        yield made


def ask(platform: Platform, path: str, body: dict[str, object], secret: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {secret or platform.key()}"}
    return platform.api.post(path, json=body, headers=headers, timeout=300)


def deployed(platform: Platform, name: str, model: str, **options: object) -> None:
    given = {name.replace("_", "-"): value for name, value in options.items()}
    platform.deploy(name, source=str(vllm_model(model)), backend="vllm", options=given, restart_limit=2)


def gone(platform: Platform, name: str) -> None:
    assert platform.api.delete(f"/api/v1/models/{name}").is_success
    platform.until(lambda: platform.api.get(f"/api/v1/models/{name}").status_code == 404, 60)
    platform.until(lambda: not platform.api.get("/api/v1/instances").json()["items"], 120)


def test_text_streams_tools_adapters_and_a_shared_beginning(platform: Platform) -> None:
    """SmolLM2's own weights; the adapter's are random, so its answer is another one."""
    deployed(
        platform,
        "smol",
        "smollm",
        max_model_len=2048,
        max_num_seqs=8,
        chat_template=TEMPLATE,
        tool_call_parser="hermes",
        lora_adapters={"poet": str(vllm_model("adapter"))},
    )
    platform.wait_ready("smol", READY_SECONDS)
    (instance,) = platform.instances("smol")
    assert instance["backend_version"] == "path-0.32.0+cpu"
    assert instance["simulated"] is False

    question = "What is the capital of France? Answer in one sentence."
    plain = platform.chat("smol", question, max_tokens=24, temperature=0)
    assert "Paris" in plain["choices"][0]["message"]["content"]
    assert (plain["model"], plain["usage"]["completion_tokens"] > 3) == ("smol", True)

    wish = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 8, "temperature": 0}
    messages = [{"role": "user", "content": question}]
    told = ask(platform, "/v1/chat/completions", {"model": "smol", "messages": messages, **wish}).text.splitlines()
    chunks = [json.loads(line[6:]) for line in told if line.startswith("data: {")]
    assert told[-2:] == ["data: [DONE]", ""] or told[-1] == "data: [DONE]"
    assert chunks[-1]["usage"]["completion_tokens"] == 8

    forced = {"tools": [TOOL], "tool_choice": "required", "max_tokens": 128, "temperature": 0}
    called = platform.chat("smol", "What is the weather in Paris?", **forced)["choices"][0]["message"]
    assert called["tool_calls"][0]["function"]["name"] == "weather"
    assert "city" in json.loads(called["tool_calls"][0]["function"]["arguments"])

    other = platform.chat("smol:poet", question, max_tokens=24, temperature=0)
    assert other["model"] == "smol:poet"
    assert other["choices"][0]["message"]["content"] != plain["choices"][0]["message"]["content"]
    listed = {each["id"]: each for each in platform.api.get("/v1/models", headers=bearer(platform)).json()["data"]}
    assert {"smol", "smol:poet"} <= set(listed)
    assert (listed["smol:poet"]["tools"], listed["smol:poet"]["context_length"]) == (True, 2048)
    only = platform.key("only", models=["smol:poet"])
    codes = [
        ask(platform, "/v1/chat/completions", {"model": name, "messages": messages, "max_tokens": 1}, only).status_code
        for name in ("smol:poet", "smol")
    ]
    assert codes == [200, 403]

    long = " ".join(f"Sentence {number} is here." for number in range(60))
    seen = [platform.chat("smol", long, max_tokens=1)["usage"]["prompt_tokens_details"] for _ in range(2)]
    assert seen[1]["cached_tokens"] >= 128

    engine = instance["pid"]
    os.kill(engine, signal.SIGKILL)
    platform.until(lambda: platform.instances("smol")[0]["state"] != "ready", 60)
    platform.wait_ready("smol", READY_SECONDS)
    assert platform.instances("smol")[0]["pid"] != engine
    gone(platform, "smol")


def bearer(platform: Platform) -> dict[str, str]:
    return {"Authorization": f"Bearer {platform.key()}"}


def test_embeddings_and_what_is_ranked_by_them(platform: Platform) -> None:
    deployed(platform, "minilm", "minilm")
    platform.wait_ready("minilm", READY_SECONDS)
    texts = ["A cat sits.", "A kitten rests.", "Interest rates rise."]
    vectors = [each["embedding"] for each in ask_ok(platform, "/v1/embeddings", input=texts)["data"]]
    assert [len(each) for each in vectors] == [384] * 3
    near, far = (sum(a * b for a, b in zip(vectors[0], other, strict=True)) for other in vectors[1:])
    assert near > far
    ranked = ask_ok(platform, "/v1/rerank", query=texts[0], documents=texts[1:])["results"]
    assert ranked[0]["index"] == 0
    refused = ask(platform, "/v1/chat/completions", {"model": "minilm", "messages": []})
    assert refused.status_code == 404
    gone(platform, "minilm")


def ask_ok(platform: Platform, path: str, **body: object) -> dict[str, list[dict[str, object]]]:
    answer = ask(platform, path, {"model": "minilm", **body})
    assert answer.status_code == 200, answer.text
    document: dict[str, list[dict[str, object]]] = answer.json()
    return document


def test_two_ranks_share_one_model(platform: Platform) -> None:
    deployed(platform, "two", "tiny", tensor_parallel_size=2, max_model_len=512, max_num_seqs=4)
    platform.wait_ready("two", READY_SECONDS)
    assert platform.chat("two", "hello", max_tokens=4)["usage"]["completion_tokens"] == 4
    assert "--tensor-parallel-size=2" in platform.instances("two")[0]["launch"]["argv"]
    gone(platform, "two")


def test_an_option_that_it_does_not_take_is_a_sentence(platform: Platform) -> None:
    """Nobody here knew it, so it was passed on; evaluate had said so."""
    body = {"source": str(vllm_model("tiny")), "backend": "vllm", "options": {"bogus": 1, "max-model-len": 512}}
    warned = platform.api.post("/api/v1/evaluate", json=body).json()["warnings"]
    assert "bogus" in str([each for each in warned if each["code"] == "options_passed_on"])
    deployed(platform, "wrong", "tiny", bogus=1, max_model_len=512)
    platform.until(lambda: platform.instances("wrong") and platform.instances("wrong")[0]["state"] == "failed", 300)
    said = platform.instances("wrong")[0]["said"]
    assert said["code"] == "engine_option_refused", said
    assert "bogus" in platform.instances("wrong")[0]["state_message"]
    gone(platform, "wrong")
