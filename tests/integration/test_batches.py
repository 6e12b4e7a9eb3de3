"""Files and batches on a whole platform, by OpenAI's own client, with the server killed on the way."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai.types import Batch

from tests.harness import Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
LINES = 40


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("batches")) as each:
        each.deploy("tiny", backend="echo", options={"first-token-ms": 150})
        each.wait_ready("tiny")
        yield each


def client_of(platform: Platform, key: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{platform.url}/v1", api_key=key, max_retries=5)


@pytest.fixture
def client(platform: Platform) -> Iterator[openai.OpenAI]:
    with client_of(platform, platform.key("batches")) as each:
        yield each


def line(custom_id: str, **changes: Any) -> dict[str, Any]:
    body = {"model": "tiny", "messages": [{"role": "user", "content": f"say {custom_id}"}], **changes.pop("body", {})}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body, **changes}


def upload(client: openai.OpenAI, lines: list[dict[str, Any]]) -> str:
    text = "".join(json.dumps(each) + "\n" for each in lines).encode()
    return client.files.create(file=("requests.jsonl", text), purpose="batch").id


def begin(client: openai.OpenAI, lines: list[dict[str, Any]], **more: Any) -> Batch:
    return client.batches.create(
        input_file_id=upload(client, lines), endpoint="/v1/chat/completions", completion_window="24h", **more
    )


def ended(client: openai.OpenAI, batch: Batch, seconds: float = 90) -> Batch:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        try:
            batch = client.batches.retrieve(batch.id)
        except (openai.APIStatusError, openai.APIConnectionError):
            time.sleep(0.2)
            continue
        if batch.status not in OPEN:
            return batch
        time.sleep(0.1)
    raise AssertionError(f"still {batch.status}: {batch.request_counts}")


OPEN = {"validating", "in_progress", "finalizing", "cancelling"}


def results(client: openai.OpenAI, file_id: str | None) -> list[dict[str, Any]]:
    assert file_id is not None
    return [json.loads(each) for each in client.files.content(file_id).text.splitlines()]


def test_openais_client_keeps_files(client: openai.OpenAI, platform: Platform) -> None:
    content = b"\r\n--x" * 1_000_000
    made = client.files.create(
        file=("a.bin", content), purpose="user_data", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert (made.filename, made.bytes, made.purpose, made.object) == ("a.bin", len(content), "user_data", "file")
    assert made.expires_at == made.created_at + 3600
    assert client.files.retrieve(made.id) == made
    assert made in list(client.files.list(purpose="user_data"))
    assert next(iter(client.files.list(limit=1))).id == made.id
    assert client.files.content(made.id).read() == content
    stored = platform.data_dir / "files" / made.id
    assert (stored.read_bytes() == content, stored.stat().st_mode & 0o777) == (True, 0o600)
    assert client.files.delete(made.id).deleted
    assert not stored.exists()
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(made.id)


def test_a_batch_survives_the_servers_death_without_losing_or_doubling_a_line(
    client: openai.OpenAI, platform: Platform
) -> None:
    lines = [line(f"line-{number}") for number in range(LINES)] + [line("wrong", body={"model": "nope"})]
    batch = begin(client, lines, metadata={"for": "a test"})
    output = platform.data_dir / "files"
    platform.until(lambda: sum(path.read_bytes().count(b'"line-') for path in output.iterdir()) > LINES + 4, 60)
    platform.kill("server")
    batch = ended(client, batch)
    assert (batch.status, batch.metadata, batch.errors) == ("completed", {"for": "a test"}, None)
    assert batch.request_counts is not None
    counts = batch.request_counts
    assert (counts.total, counts.completed, counts.failed) == (LINES + 1, LINES, 1)
    said = results(client, batch.output_file_id)
    assert sorted(each["custom_id"] for each in said) == sorted(f"line-{number}" for number in range(LINES))
    for each in said:
        assert (each["response"]["status_code"], each["error"]) == (200, None)
        assert each["response"]["body"]["choices"][0]["message"]["content"] == f"say {each['custom_id']}"
    (wrong,) = results(client, batch.error_file_id)
    assert (wrong["custom_id"], wrong["response"]["status_code"]) == ("wrong", 404)
    assert wrong["response"]["body"]["error"]["code"] == "model_not_found"
    assert batch.id in [each.id for each in client.batches.list(limit=1)]
    platform.until(lambda: len(platform.requests("tiny")) >= LINES, 30)
    key_ids = {row["key_id"] for row in platform.requests("tiny")}
    assert platform.api.get("/api/v1/keys/batches").json()["id"] in key_ids
    assert None not in key_ids


def test_a_batch_that_is_cancelled_keeps_what_is_done(client: openai.OpenAI, platform: Platform) -> None:
    batch = begin(client, [line(f"c-{number}") for number in range(400)])
    platform.until(lambda: (client.batches.retrieve(batch.id).request_counts or 0).completed > 0, 60)  # type: ignore[union-attr]
    assert client.batches.cancel(batch.id).status == "cancelling"
    batch = ended(client, batch)
    assert batch.status == "cancelled"
    assert batch.request_counts is not None
    assert 0 < batch.request_counts.completed < 400
    assert len(results(client, batch.output_file_id)) == batch.request_counts.completed


def test_a_file_that_is_no_batch_is_refused_line_by_line(client: openai.OpenAI) -> None:
    lines = [line("a"), line("a"), line("b", method="GET"), line("c", url="/v1/embeddings"), {"custom_id": "d"}]
    batch = ended(client, begin(client, lines))
    assert (batch.status, batch.output_file_id) == ("failed", None)
    assert batch.errors is not None
    assert [(each.line, each.code) for each in batch.errors.data or []] == [
        (2, "duplicate_custom_id"),
        (3, "invalid_method"),
        (4, "invalid_url"),
        (5, "invalid_json_line"),
    ]


def test_a_batch_ends_with_the_key_that_made_it(platform: Platform, client: openai.OpenAI) -> None:
    with client_of(platform, platform.key("short-lived")) as another:
        batch = begin(another, [line(f"k-{number}") for number in range(400)])
        platform.until(lambda: another.batches.retrieve(batch.id).status == "in_progress", 60)
        with pytest.raises(openai.NotFoundError):
            platform_client_of_another_user(platform).batches.retrieve("batch_nothing")
    assert platform.api.delete("/api/v1/keys/short-lived").status_code == 204
    batch = ended(client, batch)
    assert batch.status == "failed"
    assert batch.errors is not None
    assert [each.code for each in batch.errors.data or []] == ["batch_maker_gone"]


def platform_client_of_another_user(platform: Platform) -> openai.OpenAI:
    return client_of(platform, platform.key("another"))


def test_a_key_without_the_scope_has_no_files(platform: Platform) -> None:
    reader = platform.key("reads", scopes=("read",))
    answer = httpx.get(f"{platform.url}/v1/files", headers={"X-API-Key": reader}, trust_env=False)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")
    assert httpx.get(f"{platform.url}/v1/batches", trust_env=False).status_code == 401


def test_the_socket_below_run_asks_for_a_key_as_well(platform: Platform) -> None:
    path: Path = platform.data_dir / "run" / "gateway-0.sock"
    assert path.stat().st_mode & 0o777 == 0o600
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost") as inner:
        assert inner.get("/v1/models").status_code == 401
