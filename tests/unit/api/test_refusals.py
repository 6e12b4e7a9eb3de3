import json
import logging
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from gpustack_lite.db.queries import models
from tests.fakes.management import Api

JSON = {"content-type": "application/json"}


def error(answer: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) == {"message", "type", "param", "code", "params"}
    return found


@pytest.mark.parametrize(
    ("content", "code", "params"),
    [
        pytest.param(b'{"name": }', "json_malformed", {"line": 1, "column": 10, "position": 9}, id="no json"),
        pytest.param(b'{"a": 1,\n  x}', "json_malformed", {"line": 2, "column": 3, "position": 11}, id="second line"),
        pytest.param(b'{"name": "\xff"}', "body_not_utf8", {"position": 10}, id="no utf-8"),
        pytest.param(b"[" * 100_000, "body_unreadable", {}, id="too deep"),
        pytest.param(b"[]", "body_not_an_object", {}, id="a list"),
        pytest.param(b"null", "body_missing", {}, id="null"),
        pytest.param(b"", "body_missing", {}, id="nothing"),
        pytest.param(b'{"name":"m"}', "field_missing", {"name": "source"}, id="a field is missing"),
        pytest.param(
            b'{"name":"m","source":"/m","replica":1}', "field_unknown", {"name": "replica"}, id="unknown field"
        ),
    ],
)
async def test_a_body_that_cannot_be_used_gets_one_clear_sentence(
    client: httpx.AsyncClient, content: bytes, code: str, params: dict[str, Any]
) -> None:
    answer = await client.post("/api/v1/models", content=content, headers=JSON)
    assert answer.status_code == 400
    found = error(answer)
    assert (found["code"], found["type"]) == (code, "invalid_request_error")
    assert params.items() <= found["params"].items()
    assert found["message"].count(". ") == 0
    assert found["message"].endswith(".")


async def test_a_body_that_is_not_sent_as_json_is_told_so(client: httpx.AsyncClient) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    answer = await client.post("/api/v1/models", content=b'{"name":"m"}', headers=form)
    assert (answer.status_code, error(answer)["code"]) == (400, "body_not_sent_as_json")


@pytest.mark.parametrize(
    ("language", "words"),
    [("zh-CN,zh;q=0.9", "缺少字段 source"), ("de, en", "The field source is missing")],
    ids=["Chinese", "English"],
)
async def test_the_sentence_is_in_the_readers_language(client: httpx.AsyncClient, language: str, words: str) -> None:
    answer = await client.post("/api/v1/models", json={"name": "m"}, headers={"accept-language": language})
    assert words in error(answer)["message"]


async def test_an_event_source_names_its_language_in_the_address(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/models/none?lang=zh", headers={"accept-language": "en"})
    assert "没有" in error(answer)["message"]


async def test_an_unknown_path_and_method_say_what_was_asked(client: httpx.AsyncClient) -> None:
    nowhere = await client.get("/api/v1/nowhere")
    assert (nowhere.status_code, error(nowhere)["code"]) == (404, "no_such_path")
    method = await client.put("/api/v1/models")
    assert (method.status_code, error(method)["code"]) == (405, "method_not_allowed")
    assert method.headers["allow"] == "GET, POST"
    assert (await client.post("/api/v1/nowhere")).status_code == 404


async def test_a_mistake_of_ours_is_told_without_its_traceback_and_found_in_the_log(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(models, "listed", broken)
    with caplog.at_level(logging.ERROR):
        answer = await client.get("/api/v1/models", headers={"x-request-id": "r-1"})
    assert answer.status_code == 500
    assert error(answer)["type"] == "server_error"
    assert error(answer)["params"] == {"request_id": "r-1"}
    assert "secret detail" not in answer.text
    (record,) = [each for each in caplog.records if each.message == "request_failed"]
    assert record.request_id == "r-1"  # type: ignore[attr-defined]
    assert "secret detail" in str(record.exc_info)


async def test_a_database_that_cannot_write_is_told_as_such_and_nothing_is_acknowledged(
    api: Api, client: httpx.AsyncClient
) -> None:
    """As when its disk is full: a gateway keeps its usage, because it got no 204."""
    async with api.context.db.write() as session:
        await (await session.connection()).execute(
            text("CREATE TRIGGER full BEFORE INSERT ON usage BEGIN SELECT RAISE(FAIL, 'disk full'); END")
        )
    async with api.client("gateway-token") as gateway:
        row = {"request_id": "r", "model": "m", "path": "/", "started_at": "2026-01-01T00:00:00Z", "seconds": 1}
        batch = {"gateway_id": "g", "rows": [row | {"status": 200}]}
        answer = await gateway.post("/api/gateway/v1/usage", json=batch)
    assert answer.status_code >= 500
    assert (await client.get("/api/v1/requests")).json()["total"] == 0


async def test_a_lock_that_does_not_come_free_is_told_in_a_sentence(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*_: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("database is locked\nmore"))

    monkeypatch.setattr(models, "listed", locked)
    answer = await client.get("/api/v1/models")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert error(answer)["params"]["why"] == "database is locked"
    assert "SELECT" not in answer.text


async def test_a_refused_credential_names_the_scheme(api: Api) -> None:
    async with api.client("not-a-key") as client:
        answer = await client.get("/api/v1/models")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "not-a-key" not in json.dumps(answer.json())
