"""One prompt to several models at once, in one stream: the real gateway behind each, admitted and counted like any."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.harness import Platform

pytestmark = pytest.mark.integration
PROMPT = {"messages": [{"role": "user", "content": "你好 world"}], "stream": True}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform")) as platform:
        platform.deploy("one", backend="echo")
        platform.deploy("slow", backend="echo", options={"first-token-ms": 600_000})
        platform.wait_ready("one")
        platform.wait_ready("slow")
        yield platform


def headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def body(*models: str) -> dict[str, Any]:
    return {"models": list(models), "request": PROMPT}


def events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def said(answer: str) -> str:
    frames = [line.removeprefix("data: ") for line in answer.splitlines() if line.startswith("data: {")]
    choices = [choice for frame in frames for choice in json.loads(frame)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def test_each_pane_has_an_answer_of_its_own_and_one_that_fails_disturbs_none(platform: Platform) -> None:
    before = len(platform.requests("one"))
    answer = httpx.post(
        f"{platform.url}/api/v1/compare",
        json=body("one", "not-there", *["one"] * 4),
        headers=headers(platform.key()),
        trust_env=False,
    )
    told = list(events(iter(answer.text.splitlines())))
    status = {data["pane"]: data["status"] for kind, data in told if kind == "begin"}
    texts = {pane: "".join(d["text"] for kind, d in told if kind == "part" and d["pane"] == pane) for pane in status}
    assert status == {0: 200, 1: 404, 2: 200, 3: 200, 4: 200, 5: 200}
    assert json.loads(texts.pop(1))["error"]["code"] == "model_not_found"
    assert {said(text) for text in texts.values()} == {"你好 world"}
    assert {data["pane"] for kind, data in told if kind == "end"} == set(range(6))
    platform.until(lambda: len(platform.requests("one")) == before + 5, seconds=10)


def test_a_key_reaches_its_own_models_only(platform: Platform) -> None:
    key = platform.key("narrow", models=["slow"])
    answer = httpx.post(
        f"{platform.url}/api/v1/compare", json=body("one"), headers=headers(key), timeout=30, trust_env=False
    )
    told = list(events(iter(answer.text.splitlines())))
    assert told[0] == ("begin", {"pane": 0, "status": 403})


@pytest.mark.parametrize("wrong", [body(), body(*["one"] * 7), {"models": ["one"]}])
def test_one_to_six_models_and_a_request_are_asked_for(platform: Platform, wrong: dict[str, Any]) -> None:
    answer = httpx.post(f"{platform.url}/api/v1/compare", json=wrong, headers=headers(platform.key()), trust_env=False)
    assert answer.status_code == 400


def test_whoever_leaves_ends_all_panes(platform: Platform) -> None:
    with httpx.stream(
        "POST", f"{platform.url}/api/v1/compare", json=body("slow", "slow"), headers=headers(platform.key()), timeout=30
    ) as answer:
        assert answer.status_code == 200
        platform.until(lambda: platform.metric("gpustack_lite_requests_in_flight") >= 2, seconds=20)
    platform.until(lambda: [r["cause"] for r in platform.requests("slow")][:2] == ["client_gone"] * 2, seconds=20)


@contextmanager
def signed_in(platform: Platform, username: str, **more: object) -> Iterator[httpx.Client]:
    """A browser's way: the session as a cookie, its CSRF token beside it."""
    password = "correct horse battery"
    person = {"username": username, "password": password, "must_change_password": False, **more}
    platform.api.post("/api/v1/users", json=person).raise_for_status()
    with httpx.Client(base_url=platform.url, trust_env=False, timeout=60) as client:
        answer = client.post("/api/v1/auth/login", json={"username": username, "password": password})
        client.headers["X-CSRF-Token"] = answer.raise_for_status().json()["csrf_token"]
        yield client


def test_a_session_compares_with_its_own_limits_and_is_counted_itself(platform: Platform) -> None:
    with signed_in(platform, "lin", limits={"requests_per_minute": 2}) as client:
        platform.until(lambda: client.get("/v1/models").status_code == 200, seconds=30)
        answer = client.post("/api/v1/compare", json=body("one", "one", "one"))
    told = list(events(iter(answer.text.splitlines())))
    assert sorted(data["status"] for kind, data in told if kind == "begin") == [200, 200, 429]
    platform.until(lambda: len([r for r in platform.requests("one") if r["user"] == "lin"]) == 3, seconds=20)
    assert {r["key"] for r in platform.requests("one") if r["user"] == "lin"} == {None}


def test_a_cookie_alone_compares_nothing(platform: Platform) -> None:
    with signed_in(platform, "mei") as client:
        del client.headers["X-CSRF-Token"]
        answer = client.post("/api/v1/compare", json=body("one"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf_token_missing")
