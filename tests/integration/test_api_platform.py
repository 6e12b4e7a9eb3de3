"""The API as people reach it: through the gateway's public port, with everything behind it real."""

import contextlib
import json
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.harness import Platform, until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform"), arguments=["--gateways", "2"]) as running:
        running.deploy("org/echo:1", backend="echo")
        running.wait_ready("org/echo:1")
        yield running


def models_status(platform: Platform, key: str) -> int:
    """Of a connection of its own, so that any of the gateways may answer."""
    return httpx.get(f"{platform.url}/v1/models", headers={"x-api-key": key}, trust_env=False).status_code


def test_a_key_works_at_every_gateway_when_it_is_shown_and_nowhere_when_it_was_revoked(platform: Platform) -> None:
    for number in range(10):
        made = platform.api.post("/api/v1/keys", json={"name": f"k{number}"}).json()
        assert [models_status(platform, made["key"]) for _ in range(6)] == [200] * 6
        assert platform.api.delete(f"/api/v1/keys/{made['id']}").status_code == 204
        assert [models_status(platform, made["key"]) for _ in range(6)] == [401] * 6


def test_no_secret_that_was_handed_out_lies_in_the_data_directory(platform: Platform) -> None:
    key = platform.api.post("/api/v1/keys", json={"name": "secret"}).json()["key"]
    token = platform.api.post("/api/v1/workers/token").json()["token"]
    password = platform.api.post("/api/v1/users/admin/reset-password").json()["password"]
    login = {"username": "admin", "password": password}
    session = httpx.post(f"{platform.url}/api/v1/auth/login", json=login, trust_env=False).json()["token"]
    for secret in (key, token, session):
        assert platform.find_in_data_dir(secret) == []
    (where,) = platform.find_in_data_dir(password)
    assert where.name == "initial_admin_password"


@pytest.mark.parametrize("path", ["/api/gateway/v1/routes", "/api/gateway/v1/status", "/api/gateway/v1/usage"])
def test_what_gateways_say_to_the_server_is_reached_by_nobody_else(platform: Platform, path: str) -> None:
    token = (platform.data_dir / "run" / "gateway_token").read_text().strip()
    answer = httpx.get(f"{platform.url}{path}", headers={"Authorization": f"Bearer {token}"}, trust_env=False)
    assert answer.status_code in {404, 405}


@pytest.mark.parametrize("address", ["org/echo:1", "org%2Fecho:1", "org%2Fecho%3A1"])
def test_a_name_with_a_slash_arrives_however_it_was_encoded(platform: Platform, address: str) -> None:
    assert platform.api.get(f"/api/v1/models/{address}").json()["name"] == "org/echo:1"
    assert platform.api.get(f"/api/v1/models/{address}/instances").json()["total"] >= 1


def test_a_foreign_host_name_is_refused(platform: Platform) -> None:
    for path in ("/", "/api/v1/version"):
        answer = httpx.get(f"{platform.url}{path}", headers={"host": "evil.example"}, trust_env=False)
        assert answer.status_code == 421


class Stream:
    """/watch read line by line; `next` is the next event, `ended` whether the server closed it."""

    def __init__(self, platform: Platform, **params: int) -> None:
        self._request = platform.api.stream("GET", "/api/v1/watch", params=params, timeout=30)
        self._lines = self._request.__enter__().iter_lines()

    def next(self) -> dict[str, Any]:
        found: dict[str, str] = {}
        for line in self._lines:
            name, _, value = line.partition(": ")
            if not line and "id" in found:
                return {"event": found.get("event"), "id": int(found["id"]), "data": json.loads(found["data"])}
            if name in {"event", "id", "data"}:
                found[name] = value
        raise EOFError

    def until_event(self, kind: str) -> dict[str, Any]:
        while True:
            story = self.next()
            if story["data"].get("kind") == "event" and story["data"]["document"]["kind"] == kind:
                return story

    def rest(self) -> list[int]:
        """The ids of what is still told until the stream ends."""
        ids = []
        with contextlib.suppress(EOFError, httpx.HTTPError):
            while True:
                ids.append(self.next()["id"])
        self.close()
        return ids

    def close(self) -> None:
        self._request.__exit__(None, None, None)


def test_a_change_is_told_at_once_and_a_stream_goes_on_over_a_restart_of_the_server(platform: Platform) -> None:
    revision = platform.api.get("/api/v1/models").json()["revision"]
    first = Stream(platform, after=revision)
    assert first.next() == {"event": "hello", "id": revision, "data": {"revision": revision}}
    platform.api.patch("/api/v1/models/org/echo:1", json={"restart_limit": 6})
    seen = first.until_event("model_changed")["id"]
    assert seen > revision
    before = platform.pid("server")
    platform.kill("server", signal.SIGTERM)
    seen = max([seen, *first.rest()])
    platform.until(lambda: platform.pid("server") not in {None, before}, 30)
    platform.wait_api()
    platform.api.patch("/api/v1/models/org/echo:1", json={"restart_limit": 7})
    second = Stream(platform, after=seen)
    assert second.next()["event"] == "hello"
    ids = [second.next()["id"]]
    while ids[-1] < platform.api.get("/api/v1/models").json()["revision"]:
        ids.append(second.next()["id"])
    assert ids == list(range(seen + 1, seen + 1 + len(ids)))
    second.close()


def ready_instance(platform: Platform) -> dict[str, Any]:
    platform.wait_ready("org/echo:1")
    return next(each for each in platform.instances("org/echo:1") if each["state"] == "ready")


def test_a_log_is_followed_until_its_reader_leaves(platform: Platform) -> None:
    instance = ready_instance(platform)
    path = f"/api/v1/instances/{instance['id']}/logs"
    with platform.api.stream("GET", path, params={"follow": True, "tail": 1}) as answer:
        assert answer.status_code == 200
        assert "echo_server" in next(answer.iter_text())
    log = platform.api.get(path, params={"attempt": instance["attempt"], "tail": 10})
    assert "echo_server" in log.text
    assert platform.api.get(path, params={"attempt": 99}).status_code == 404


def test_an_instance_that_is_restarted_is_replaced(platform: Platform) -> None:
    before = ready_instance(platform)
    assert platform.api.delete(f"/api/v1/instances/{before['id']}").status_code == 204

    def after() -> bool:
        found = [each for each in platform.instances("org/echo:1") if each["state"] == "ready"]
        return [each["id"] for each in found] not in ([], [before["id"]])

    assert until(after, 60, why=platform.story)


def test_usage_of_a_key_is_found_under_its_name(platform: Platform) -> None:
    key = platform.key("counted")
    body = {"model": "org/echo:1", "messages": [{"role": "user", "content": "hi"}]}
    headers = {"Authorization": f"Bearer {key}"}
    platform.wait_ready("org/echo:1")
    answer = platform.api.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text

    def row() -> dict[str, Any] | None:
        return next((each for each in platform.usage("key") if each["key"] == "counted"), None)

    counted = platform.until(row, 20)
    assert counted is not None
    assert (counted["requests"], counted["completion_tokens"]) == (1, answer.json()["usage"]["completion_tokens"])
    shown = platform.api.get("/api/v1/keys/counted").json()
    assert shown["last_used_at"] is not None


def ask(platform: Platform, key: str) -> httpx.Response:
    """Of a connection of its own."""
    body = {"model": "org/echo:1", "messages": [{"role": "user", "content": "a b c"}]}
    headers = {"x-api-key": key}
    return httpx.post(f"{platform.url}/v1/chat/completions", json=body, headers=headers, trust_env=False, timeout=60)


def test_two_gateways_hold_a_limit_together_and_say_429_to_the_rest(platform: Platform) -> None:
    limits = {"requests_per_minute": 20}
    made = platform.api.post("/api/v1/keys", json={"name": "limited", "limits": limits}).json()
    answers = [ask(platform, made["key"]) for _ in range(50)]
    admitted = [each for each in answers if each.status_code == 200]
    assert {each.status_code for each in answers} == {200, 429}
    assert 10 <= len(admitted) <= 31  # 20 * (2 - 1/2) and one for the other gateway
    assert all(each.headers["x-ratelimit-limit-requests"] == "20" for each in answers)
    platform.api.delete(f"/api/v1/keys/{made['id']}")


def test_every_gateway_hears_of_a_budget_that_is_used_up_and_of_one_that_is_raised(platform: Platform) -> None:
    made = platform.api.post("/api/v1/keys", json={"name": "budget", "limits": {"tokens_per_month": 20}}).json()

    def codes() -> set[str]:
        answers = [ask(platform, made["key"]) for _ in range(6)]
        return {each.json()["error"]["code"] if each.status_code == 429 else "passed" for each in answers}

    platform.until(lambda: codes() == {"insufficient_quota"}, 60)
    platform.api.patch(f"/api/v1/keys/{made['id']}", json={"limits": {"tokens_per_month": 1_000_000}})
    assert codes() == {"passed"}
    platform.api.delete(f"/api/v1/keys/{made['id']}")


def test_a_key_that_is_disabled_works_nowhere_when_the_answer_is_there_and_says_so(platform: Platform) -> None:
    made = platform.api.post("/api/v1/keys", json={"name": "switched"}).json()
    for enabled, expected in ((False, 401), (True, 200)):
        assert platform.api.patch(f"/api/v1/keys/{made['id']}", json={"enabled": enabled}).status_code == 200
        assert [models_status(platform, made["key"]) for _ in range(6)] == [expected] * 6
    platform.api.patch(f"/api/v1/keys/{made['id']}", json={"enabled": False})
    assert ask(platform, made["key"]).json()["error"]["code"] == "key_disabled"
    platform.api.delete(f"/api/v1/keys/{made['id']}")
