"""Scale to zero on a whole platform: idle, asleep, asked for, awake."""

import json
import threading
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from tests.harness import Document, Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
SLOW = {"load-ms": 2500}
HELD = 20
NAMES = ("early", "shown", "crowded", "stopped", "broken", "pinned")


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    env = {"GPUSTACK_LITE_HELD_WHILE_WAKING": str(HELD)}
    with Platform(tmp_path_factory.mktemp("sleeping"), env=env) as made:
        for name in NAMES:
            made.deploy(name, backend="echo", options=SLOW, serving={"sleep_after_seconds": 1})
        for name in NAMES:
            falls_asleep(made, name)
        yield made


def falls_asleep(platform: Platform, name: str) -> None:
    platform.until(lambda: platform.model(name)["state"] == "sleeping" and not platform.instances(name), seconds=60)
    knows(platform, name, "sleeping")


def knows(platform: Platform, name: str, state: str) -> None:
    """The gateway has heard of it."""
    headers = {"Authorization": f"Bearer {platform.key()}"}
    platform.until(lambda: platform.api.get(f"/v1/models/{name}", headers=headers).json()["state"] == state, seconds=30)


def ask(platform: Platform, name: str, **more: object) -> httpx.Response:
    body = {"model": name, "messages": [{"role": "user", "content": "good morning"}], **more}
    headers = {"Authorization": f"Bearer {platform.key()}"}
    return httpx.post(f"{platform.url}/v1/chat/completions", json=body, headers=headers, timeout=90, trust_env=False)


def events(platform: Platform, name: str) -> list[Document]:
    found: list[Document] = platform.api.get("/api/v1/events", params={"model": name}).json()["items"]
    return found


def test_an_idle_model_sleeps_and_a_request_wakes_it_and_is_served(platform: Platform) -> None:
    slept = next(each for each in events(platform, "early") if each["kind"] == "model_slept")
    assert slept["params"]["seconds"] >= 1
    answer = ask(platform, "early")
    assert (answer.status_code, answer.headers["x-gpustack-model-state"]) == (200, "waking")
    assert float(answer.headers["x-gpustack-queue-seconds"]) > 1
    assert answer.json()["choices"][0]["message"]["content"] == "good morning"
    row = platform.until(lambda: next(iter(platform.requests("early")), None), seconds=20)
    assert row is not None
    assert row["queued_seconds"] > 1
    falls_asleep(platform, "early")


def test_a_stream_sees_what_it_waits_for(platform: Platform) -> None:
    answer = ask(platform, "shown", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = answer.text.splitlines()
    assert [line for line in lines if line.startswith(": waking shown, ")]
    datas = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert datas[-1] == "[DONE]"
    words = [json.loads(each)["choices"][0]["delta"].get("content", "") for each in datas[:-1]]
    assert "".join(words) == "good morning"


def test_a_crowd_at_a_sleeping_model_gets_answers_or_429_and_a_client_that_leaves_does_not_stop_the_wake(
    platform: Platform,
) -> None:
    answers: list[httpx.Response] = []
    body = {"model": "crowded", "messages": [{"role": "user", "content": "hi"}]}
    headers = {"Authorization": f"Bearer {platform.key()}"}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{platform.url}/v1/chat/completions", json=body, headers=headers, timeout=0.5, trust_env=False)
    acts = [threading.Thread(target=lambda: answers.append(ask(platform, "crowded"))) for _ in range(3 * HELD)]
    for each in acts:
        each.start()
    for each in acts:
        each.join()
    assert len(answers) == 3 * HELD
    assert set(Counter(each.status_code for each in answers)) <= {200, 429}
    assert sum(each.status_code == 200 for each in answers) >= HELD
    for each in answers:
        if each.status_code == 429:
            assert each.json()["error"]["code"] == "held_full"
            assert 1 <= int(each.headers["retry-after"]) <= 600


def test_a_model_that_somebody_stopped_is_not_woken_and_starting_it_wakes_it(platform: Platform) -> None:
    platform.api.post("/api/v1/models/stopped/stop")
    knows(platform, "stopped", "stopped")
    answer = ask(platform, "stopped")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "model_not_ready")
    assert platform.instances("stopped") == []
    platform.api.post("/api/v1/models/stopped/start")
    platform.wait_ready("stopped")


def test_those_who_wait_are_told_why_it_will_not_wake(platform: Platform) -> None:
    change = {"options": {"exit-code": 3, "exit-line": "no weights today"}, "restart_limit": 0}
    platform.api.patch("/api/v1/models/broken", json=change).raise_for_status()
    answer = ask(platform, "broken")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "model_not_ready")
    assert "no weights today" in answer.json()["error"]["message"]
    assert ask(platform, "broken", stream=True).status_code == 503


def test_pinning_wakes_and_keeps_awake(platform: Platform) -> None:
    platform.api.patch("/api/v1/models/pinned", json={"serving": {"pinned": True}}).raise_for_status()
    assert platform.wait_ready("pinned")["asleep"] is False
