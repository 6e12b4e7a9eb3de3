"""Nothing that changes is lost between a list and the stream, whoever writes meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from gpustack_lite.api.auth import SignedInCaller, identify
from gpustack_lite.api.credentials import Presented
from gpustack_lite.api.watching import stream
from gpustack_lite.db.queries import changes
from gpustack_lite.db.tables import User
from tests.fakes.management import Api

DEADLINE_SECONDS = 20


@dataclass(frozen=True)
class Told:
    event: str
    id: int
    data: dict[str, Any]


def parse(text: bytes) -> list[Told]:
    found = []
    for block in text.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append(Told(fields.get("event", "message"), int(fields["id"]), json.loads(fields["data"])))
    return found


async def told(api: Api, secret: str, after: int | None = None) -> AsyncIterator[Told]:
    """What a reader of /watch is told, one by one; ends when the stream does."""
    shown = Presented(secret, "bearer")
    caller = await identify(api.context, shown)
    assert caller is not None
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        aclosing(stream(api.context, SignedInCaller(caller, shown), after, "en")) as text,
    ):
        async for piece in text:
            for each in parse(piece):
                yield each


async def first(count: int, stories: AsyncIterator[Told]) -> list[Told]:
    found: list[Told] = []
    async with aclosing(stories) as each:  # type: ignore[type-var]
        async for story in each:
            found.append(story)
            if len(found) == count:
                break
    return found


async def write(api: Api, *numbers: int, kind: str = "model", document: dict[str, Any] | None = None) -> None:
    for number in numbers:
        async with api.context.db.write() as session:
            await changes.record(session, kind, "put", number, document or {"n": number}, api.clock)
        api.context.signals.touch("changes")


@pytest.fixture
async def secret(api: Api, admin: User) -> str:
    return await api.key(admin, "read")


async def test_without_a_position_the_stream_begins_now(api: Api, secret: str) -> None:
    await write(api, 1, 2)
    stories = told(api, secret)
    assert await anext(stories) == Told("hello", 2, {"revision": 2})
    await write(api, 7)
    assert await anext(stories) == Told("message", 3, {"kind": "model", "op": "put", "id": 7, "document": {"n": 7}})


async def test_a_reader_that_returns_is_told_what_it_missed_in_order(api: Api, secret: str) -> None:
    await write(api, *range(1, 6))
    stories = await first(4, told(api, secret, after=2))
    assert [(story.event, story.id) for story in stories] == [
        ("hello", 2),
        ("message", 3),
        ("message", 4),
        ("message", 5),
    ]


async def test_more_than_one_reading_of_changes_is_told_whole(api: Api, secret: str) -> None:
    async with api.context.db.write() as session:
        for number in range(1, 1201):
            await changes.record(session, "model", "put", number, None, api.clock)
    stories = await first(1201, told(api, secret, after=0))
    assert [story.id for story in stories] == list(range(1201))


async def test_nothing_is_lost_between_list_and_watch_while_others_write(
    api: Api, client: httpx.AsyncClient, secret: str
) -> None:
    body = {"source": "none:", "backend": "echo"}

    async def writer(number: int) -> None:
        for turn in range(5):
            name = f"m-{number}-{turn}"
            assert (await client.post("/api/v1/models", json=body | {"name": name})).status_code == 201
            if turn % 2:
                assert (await client.delete(f"/api/v1/models/{name}")).status_code == 204

    async def reader() -> dict[int, str]:
        listed = (await client.get("/api/v1/models?limit=1000")).json()
        names = {model["id"]: model["name"] for model in listed["items"]}
        async for story in told(api, secret, after=listed["revision"]):
            if story.event != "message" or story.data["kind"] not in {"model", "event"}:
                continue
            if story.data["kind"] == "event" and story.data["document"]["kind"] == "model_created":
                if story.data["document"]["model"] == "last":
                    return names
            elif story.data["op"] == "put" and story.data["kind"] == "model":
                names[story.data["id"]] = story.data["document"]["name"]
            elif story.data["op"] == "delete":
                names.pop(story.data["id"], None)
        raise AssertionError("the stream ended")

    writing = asyncio.gather(*(writer(number) for number in range(4)))
    readers = [asyncio.ensure_future(reader()) for _ in range(3)]
    await writing
    readers.append(asyncio.ensure_future(reader()))
    expected = {model["id"]: model["name"] for model in (await client.get("/api/v1/models?limit=1000")).json()["items"]}
    await asyncio.sleep(0)
    assert (await client.post("/api/v1/models", json=body | {"name": "last"})).status_code == 201
    for each in await asyncio.gather(*readers):
        assert each == expected


async def test_a_position_that_is_no_longer_kept_is_answered_with_reset(api: Api, secret: str) -> None:
    await write(api, *range(1, 11))
    async with api.context.db.write() as session:
        await changes.trim(session, kept=3)
    assert await first(2, told(api, secret, after=6)) == [
        Told("hello", 6, {"revision": 6}),
        Told("reset", 10, {"revision": 10}),
    ]
    kept = await first(4, told(api, secret, after=7))
    assert [(story.event, story.id) for story in kept[1:]] == [("message", 8), ("message", 9), ("message", 10)]


async def test_a_position_of_another_database_is_answered_with_reset_and_the_stream_goes_on(
    api: Api, secret: str
) -> None:
    await write(api, 1)
    stories = told(api, secret, after=1000)
    assert [(await anext(stories)).event for _ in range(2)] == ["hello", "reset"]
    await write(api, 2)
    assert (await anext(stories)).id == 2


async def test_a_log_that_was_forgotten_whole_is_a_gap_too(api: Api, secret: str) -> None:
    await write(api, *range(1, 4))
    async with api.context.db.write() as session:
        await changes.trim(session, kept=0)
    assert [story.event for story in await first(2, told(api, secret, after=1))] == ["hello", "reset"]


@pytest.mark.parametrize("end", ["revoked", "server stops"])
async def test_an_open_stream_ends_with_its_credential_and_with_the_server(
    api: Api, client: httpx.AsyncClient, secret: str, end: str
) -> None:
    stories = told(api, secret)
    await anext(stories)
    if end == "revoked":
        assert (await client.delete("/api/v1/keys/k")).status_code == 204
    else:
        api.context.stop()
    assert [story.event async for story in stories if story.data.get("op") != "put"] == []


async def test_keys_are_told_to_their_owner_and_to_admins_alone(
    api: Api, client: httpx.AsyncClient, secret: str
) -> None:
    ada, bob = await api.user("ada", "user"), await api.user("bob", "user")
    hers, his = await api.key(ada, "manage", name="a"), await api.key(bob, "manage", name="b")
    async with api.client(hers) as other:
        await other.post("/api/v1/keys", json={"name": "new"})
    await write(api, 7)
    counts = {}
    for name, reader in (("ada", hers), ("bob", his), ("admin", secret)):
        stories = told(api, reader, after=0)
        kinds = []
        async for story in stories:
            kinds.append(story.data.get("kind"))
            if story.data.get("id") == 7 and story.data.get("kind") == "model":
                break
        counts[name] = kinds.count("key")
    assert counts == {"ada": 1, "bob": 0, "admin": 1}


async def test_sentences_are_told_in_the_readers_language(api: Api, secret: str) -> None:
    said = {"code": "unreachable", "params": {"where": "w1", "why": "x"}}
    await write(api, 1, kind="instance", document={"said": said})
    shown = Presented(secret, "bearer")
    caller = await identify(api.context, shown)
    assert caller is not None
    async with aclosing(stream(api.context, SignedInCaller(caller, shown), 0, "zh")) as text:
        await anext(text)
        (story,) = parse(await anext(text))
    assert story.data["document"]["state_message"] == "w1 没有应答：x。"


@pytest.mark.parametrize(
    ("params", "headers", "status"),
    [
        ({"after": "-1"}, {}, 400),
        ({"after": "x"}, {}, 400),
        ({}, {"last-event-id": "x"}, 400),
        ({}, {"last-event-id": "9" * 30}, 400),
        ({"after": str(2**70)}, {}, 400),
    ],
)
async def test_a_position_that_is_none_is_refused(
    client: httpx.AsyncClient, params: dict[str, str], headers: dict[str, str], status: int
) -> None:
    assert (await client.get("/api/v1/watch", params=params, headers=headers)).status_code == status
