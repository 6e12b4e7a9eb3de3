"""Files and batches without a gateway: shapes, owners, quotas."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpustack_lite.db.tables import Batch, User
from tests.fakes.management import Api, running

FILE = {"file": ("a.jsonl", b"content", "application/jsonl")}


@pytest.fixture
async def ada(api: Api) -> User:
    return await api.user("ada", role="user")


async def uploaded(client: httpx.AsyncClient, **fields: str) -> dict[str, Any]:
    answer = await client.post("/v1/files", files=FILE, data={"purpose": "batch", **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_file_is_shown_as_openai_does(api: Api, client: httpx.AsyncClient) -> None:
    made = await uploaded(client)
    assert made == {
        "id": made["id"],
        "object": "file",
        "bytes": 7,
        "created_at": made["created_at"],
        "expires_at": made["created_at"] + 30 * 86_400,
        "filename": "a.jsonl",
        "purpose": "batch",
        "status": "processed",
        "status_details": None,
    }
    listed = (await client.get("/v1/files")).json()
    assert (listed["data"], listed["has_more"], listed["first_id"]) == ([made], False, made["id"])
    content = await client.get(f"/v1/files/{made['id']}/content")
    assert (content.content, content.headers["content-type"]) == (b"content", "application/octet-stream")


async def test_files_are_listed_page_by_page(api: Api, client: httpx.AsyncClient) -> None:
    ids = []
    for _ in range(3):
        ids.append((await uploaded(client))["id"])
        api.clock.advance(1)
    first = (await client.get("/v1/files", params={"limit": 2})).json()
    assert ([each["id"] for each in first["data"]], first["has_more"]) == ([ids[2], ids[1]], True)
    rest = (await client.get("/v1/files", params={"limit": 2, "after": first["last_id"]})).json()
    assert ([each["id"] for each in rest["data"]], rest["has_more"]) == ([ids[0]], False)
    oldest = (await client.get("/v1/files", params={"limit": 1, "order": "asc"})).json()
    assert oldest["data"][0]["id"] == ids[0]
    assert (await client.get("/v1/files", params={"purpose": "vision"})).json()["data"] == []


async def test_nobody_but_an_admin_sees_the_files_and_batches_of_others(
    api: Api, client: httpx.AsyncClient, ada: User
) -> None:
    async with api.client(await api.key(ada, "inference")) as hers:
        theirs, own = await uploaded(client), await uploaded(hers)
        assert [each["id"] for each in (await hers.get("/v1/files")).json()["data"]] == [own["id"]]
        for path in (f"/v1/files/{theirs['id']}", f"/v1/files/{theirs['id']}/content"):
            assert (await hers.get(path)).status_code == 404
        assert (await hers.delete(f"/v1/files/{theirs['id']}")).status_code == 404
        assert code(await hers.post("/v1/batches", json=wanted(theirs["id"])))[0] == 404
        made = (await client.post("/v1/batches", json=wanted(theirs["id"]))).json()
        assert (await hers.get(f"/v1/batches/{made['id']}")).status_code == 404
        assert (await hers.post(f"/v1/batches/{made['id']}/cancel")).status_code == 404
        assert (await hers.get("/v1/batches")).json()["data"] == []
    assert (await client.get(f"/v1/files/{own['id']}")).json() == own


async def test_a_key_that_may_only_manage_has_no_files(api: Api, admin: User) -> None:
    async with api.client(await api.key(admin, "manage")) as manager:
        assert code(await manager.get("/v1/files")) == (403, "scope_missing")


@pytest.mark.parametrize(
    ("files", "fields", "refused"),
    [
        (FILE, {}, "form_field_missing"),
        (FILE, {"purpose": "fun"}, "file_purpose_unknown"),
        ({"other": ("a", b"x")}, {"purpose": "batch"}, "form_field_missing"),
        (FILE, {"purpose": "batch", "expires_after[anchor]": "created_at"}, "file_expiry_bad"),
        (FILE, {"purpose": "batch", "expires_after[seconds]": "7200"}, "file_expiry_bad"),
        (
            FILE,
            {"purpose": "batch", "expires_after[anchor]": "created_at", "expires_after[seconds]": "60"},
            "file_expiry_bad",
        ),
    ],
)
async def test_what_is_wrong_with_an_upload_is_said_and_nothing_is_left(
    api: Api, client: httpx.AsyncClient, files: Any, fields: dict[str, str], refused: str
) -> None:
    assert code(await client.post("/v1/files", files=files, data=fields)) == (400, refused)
    assert list((api.context.data_dir / "files").iterdir()) == []


async def test_an_upload_that_is_no_form_is_refused(client: httpx.AsyncClient) -> None:
    assert code(await client.post("/v1/files", json={})) == (415, "form_wanted")


async def test_uploads_are_bounded_each_and_together(tmp_path: Path, template: Path) -> None:
    async with (
        running(tmp_path, template, upload_bytes=300_000, user_files_bytes=400_000) as api,
        api.client(await api.key(await api.user(), "inference")) as client,
    ):
        for size, expected in ((300_001, (413, "upload_too_large")), (300_000, None), (300_000, (413, "files_quota"))):
            answer = await client.post("/v1/files", files={"file": ("a", b"x" * size)}, data={"purpose": "batch"})
            assert (code(answer) if answer.is_error else None) == expected
        assert len(list((tmp_path / "files").iterdir())) == 1


def wanted(file_id: str, **changes: Any) -> dict[str, Any]:
    return {"input_file_id": file_id, "endpoint": "/v1/embeddings", "completion_window": "24h", **changes}


async def test_a_batch_is_made_shown_and_cancelled(api: Api, client: httpx.AsyncClient) -> None:
    file = await uploaded(client)
    made = (await client.post("/v1/batches", json=wanted(file["id"], metadata={"a": "b"}))).json()
    assert made["id"].startswith("batch_")
    assert (made["object"], made["status"], made["errors"], made["metadata"]) == (
        "batch",
        "validating",
        None,
        {"a": "b"},
    )
    assert made["expires_at"] == made["created_at"] + 86_400
    assert made["request_counts"] == {"total": 0, "completed": 0, "failed": 0}
    assert (await client.get(f"/v1/batches/{made['id']}")).json() == made
    assert (await client.get("/v1/batches")).json()["data"] == [made]
    assert code(await client.delete(f"/v1/files/{file['id']}")) == (409, "file_in_use")
    cancelled = (await client.post(f"/v1/batches/{made['id']}/cancel")).json()
    assert cancelled["status"] == "cancelling"
    assert (await client.post(f"/v1/batches/{made['id']}/cancel")).json() == cancelled


async def test_a_batch_that_has_ended_tells_when_and_why_in_the_readers_language(
    api: Api, client: httpx.AsyncClient, admin: User
) -> None:
    now = api.clock.wall()
    error = {"code": "duplicate_custom_id", "params": {"custom_id": "a"}, "param": "custom_id", "line": 2}
    given: dict[str, Any] = {"endpoint": "/v1/embeddings", "input_file_id": "f", "created_at": now, "ended_at": now}
    await api.add(
        Batch(
            id="batch_1", user_id=admin.id or 0, status="failed", errors=[error], expires_at=now + timedelta(1), **given
        )
    )
    shown = (await client.get("/v1/batches/batch_1", headers={"accept-language": "zh"})).json()
    assert (shown["failed_at"], shown["completed_at"]) == (int(now.timestamp()), None)
    (told,) = shown["errors"]["data"]
    assert (told["code"], told["line"], "已被前面的行使用" in told["message"]) == ("duplicate_custom_id", 2, True)
    assert code(await client.post("/v1/batches/batch_1/cancel")) == (409, "batch_ended")


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"endpoint": "/v1/models"}, "field_not_one_of"),
        ({"completion_window": "1h"}, "field_not_one_of"),
        ({"metadata": {"a": 1}}, "field_not_text"),
        ({"metadata": {"a": "\0"}}, "text_not_whole"),
        ({"input_file_id": "\ud800"}, "field_not_text"),
        ({"output_expires_after": {"anchor": "created_at", "seconds": 1}}, "file_expiry_bad"),
    ],
)
async def test_what_is_wrong_with_a_batch_is_said(
    client: httpx.AsyncClient, changes: dict[str, Any], refused: str
) -> None:
    file = await uploaded(client)
    body, headers = json.dumps(wanted(file["id"]) | changes), {"content-type": "application/json"}
    assert code(await client.post("/v1/batches", content=body, headers=headers)) == (400, refused)


async def test_a_file_for_something_else_is_no_batch(client: httpx.AsyncClient) -> None:
    file = await uploaded(client, purpose="vision")
    assert code(await client.post("/v1/batches", json=wanted(file["id"]))) == (400, "batch_file_purpose")


async def test_a_user_has_a_bounded_number_of_open_batches(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpustack_lite.db.queries.batches.MOST_OPEN", 1)
    file = await uploaded(client)
    assert (await client.post("/v1/batches", json=wanted(file["id"]))).status_code == 200
    assert code(await client.post("/v1/batches", json=wanted(file["id"]))) == (429, "batches_too_many")
