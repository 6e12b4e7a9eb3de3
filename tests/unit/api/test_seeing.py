"""What people without the access of a model see and may do: nothing of it is there for them."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from gpustack_lite.db.queries import publishing
from gpustack_lite.db.tables import User
from gpustack_lite.server.routes import credentials
from tests.fakes.management import Api
from tests.fakes.rows import an_instance

MODELS = "/api/v1/models"


@dataclass
class Room:
    """Models `open` and `closed` (for ada, managed by max), a route to both, and somebody of each kind."""

    api: Api
    admin: httpx.AsyncClient
    ada: httpx.AsyncClient
    bob: httpx.AsyncClient
    max: httpx.AsyncClient
    closed_instance: int


@pytest.fixture
async def room(api: Api, client: httpx.AsyncClient) -> AsyncIterator[Room]:
    people: dict[str, User] = {name: await api.user(name, "user") for name in ("ada", "bob", "max")}
    access = {"users": ["ada"], "managers": ["user:max"]}
    for name, given in (("open", {}), ("closed", {"access": access})):
        body = {"name": name, "source": "none:", "backend": "echo", **given}
        answer = await client.post(MODELS, json=body)
        assert answer.status_code == 201, answer.text
    closed = (await client.get(f"{MODELS}/closed")).json()
    body = {"name": "both", "targets": [{"model": "open"}, {"model": "closed"}]}
    assert (await client.post("/api/v1/model-routes", json=body)).status_code == 201
    row = an_instance(0, model_id=closed["id"], model_name="closed")
    row.id = None
    row = await api.add(row)
    secrets = {name: await api.key(user, "manage", name=name) for name, user in people.items()}
    ada, bob, max_ = [api.client(secrets[name]) for name in people]
    async with ada, bob, max_:
        yield Room(api, client, ada, bob, max_, row.id or 0)


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return sorted(each.get("name") or each["model"] for each in answer.json()["items"])


async def test_what_is_closed_to_somebody_is_not_there(room: Room) -> None:
    assert names(await room.ada.get(MODELS)) == ["closed", "open"]
    assert names(await room.bob.get(MODELS)) == ["open"]
    assert names(await room.bob.get("/api/v1/model-routes")) == []
    assert names(await room.ada.get("/api/v1/model-routes")) == ["both"]
    assert names(await room.bob.get("/api/v1/instances")) == []
    assert names(await room.ada.get("/api/v1/instances")) == ["closed"]
    for path in (
        f"{MODELS}/closed",
        f"{MODELS}/closed/instances",
        f"/api/v1/instances/{room.closed_instance}",
        f"/api/v1/instances/{room.closed_instance}/logs",
        "/api/v1/instances?model=closed",
        "/api/v1/model-routes/both",
    ):
        assert (await room.bob.get(path)).status_code == 404, path
    for method, path in (("PATCH", "closed"), ("POST", "closed/stop"), ("POST", "closed/start")):
        assert (await room.bob.request(method, f"{MODELS}/{path}", json={})).status_code == 404
    assert (await room.bob.delete(f"/api/v1/instances/{room.closed_instance}")).status_code == 404


async def test_the_diary_tells_others_what_they_may_see_alone(room: Room) -> None:
    def about(answer: httpx.Response) -> set[str | None]:
        return {event["model"] for event in answer.json()["items"]}

    assert about(await room.bob.get("/api/v1/events")) == {"open"}
    assert about(await room.ada.get("/api/v1/events")) == {"open", "closed"}
    whole = (await room.admin.get("/api/v1/events")).json()["items"]
    assert "route_created" in {event["kind"] for event in whole}


async def test_who_uses_a_model_neither_changes_it_nor_reads_its_log(room: Room) -> None:
    refused = [
        await room.ada.patch(f"{MODELS}/closed", json={"replicas": 0}),
        await room.ada.post(f"{MODELS}/closed/stop"),
        await room.ada.delete(f"/api/v1/instances/{room.closed_instance}"),
        await room.ada.get(f"/api/v1/instances/{room.closed_instance}/logs"),
        await room.ada.patch(f"{MODELS}/open", json={"replicas": 0}),
    ]
    assert {(each.status_code, each.json()["error"]["code"]) for each in refused} == {(403, "model_not_managed")}


async def test_a_manager_scales_and_stops_and_changes_nothing_of_the_host(room: Room) -> None:
    assert (await room.max.patch(f"{MODELS}/closed", json={"replicas": 2})).json()["replicas"] == 2
    assert (await room.max.post(f"{MODELS}/closed/stop")).json()["stopped"] is True
    log = await room.max.get(f"/api/v1/instances/{room.closed_instance}/logs")
    assert (log.status_code, log.json()["error"]["code"]) == (409, "instance_not_placed")
    for field, value in (
        ("env", {"A": "b"}),
        ("options", {}),
        ("access", None),
        ("placement", {"priority": 1}),
        *TRUST,
    ):
        answer = await room.max.patch(f"{MODELS}/closed", json={field: value})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "field_admin_only"), field
    assert (await room.max.delete(f"{MODELS}/closed")).status_code == 403


TRUST = (("trust_remote_code", True), ("allow_pickle", True), ("source", "huggingface:evil/model"))
"""Who may not decide whom to trust must not change whom it is about either."""


async def denied(api: Api) -> dict[str, tuple[str, ...]]:
    async with api.context.db.read() as session:
        view = await publishing.view(session, api.clock.wall())
    return {each.user: each.denied for each in credentials(view)}


async def test_gateways_are_told_what_is_not_for_whom(room: Room) -> None:
    assert await denied(room.api) == {"admin": (), "ada": (), "bob": ("both", "closed"), "max": ()}


async def test_a_group_opens_and_closes_with_its_members(room: Room) -> None:
    assert (await room.admin.post("/api/v1/groups", json={"name": "nlp"})).status_code == 201
    changed = await room.admin.patch(f"{MODELS}/closed", json={"access": {"groups": ["nlp"]}})
    assert changed.json()["generation"] >= 2
    assert changed.json()["launch_generation"] == 1
    assert (await room.bob.get(f"{MODELS}/closed")).status_code == 404
    joined = await room.admin.put("/api/v1/groups/nlp/members/bob")
    assert joined.json()["members"] == ["bob"]
    assert (await room.bob.get(f"{MODELS}/closed")).status_code == 200
    assert (await denied(room.api))["bob"] == ()
    await room.admin.delete("/api/v1/groups/nlp/members/bob")
    assert (await room.bob.get(f"{MODELS}/closed")).status_code == 404
    await room.admin.patch("/api/v1/groups/nlp", json={"members": ["bob", "ada"]})
    assert (await room.bob.get(f"{MODELS}/closed")).status_code == 200
    assert (await room.admin.delete("/api/v1/groups/nlp")).status_code == 204
    assert (await room.bob.get(f"{MODELS}/closed")).status_code == 404


async def test_access_that_came_as_numbers_may_be_sent_back(room: Room) -> None:
    shown = (await room.admin.get(f"{MODELS}/closed")).json()["access"]
    assert shown["managers"][0].startswith("user:")
    same = await room.admin.patch(f"{MODELS}/closed", json={"access": shown})
    assert (same.json()["access"], same.json()["generation"]) == (shown, 1)
    opened = await room.admin.patch(f"{MODELS}/closed", json={"access": None})
    assert opened.json()["access"] is None
    assert names(await room.bob.get(MODELS)) == ["closed", "open"]


async def test_a_route_with_access_of_its_own_opens_what_its_models_close(room: Room) -> None:
    answer = await room.admin.patch("/api/v1/model-routes/both", json={"access": {"users": ["bob"]}})
    assert answer.status_code == 200, answer.text
    assert (await denied(room.api))["bob"] == ("closed",)
    assert names(await room.bob.get("/api/v1/model-routes")) == ["both"]
    assert (await denied(room.api))["ada"] == ("both",)


@pytest.mark.parametrize(
    ("access", "status"),
    [
        ({"users": ["nobody"]}, 404),
        ({"groups": ["nobody"]}, 404),
        ({"managers": ["ada"]}, 400),
        ({"managers": ["user:nobody"]}, 404),
        ({"users": [True]}, 400),
        ({"everybody": True}, 400),
        ([], 400),
    ],
    ids=json.dumps,
)
async def test_access_that_names_nobody_is_refused(room: Room, access: Any, status: int) -> None:
    assert (await room.admin.patch(f"{MODELS}/open", json={"access": access})).status_code == status


@pytest.mark.parametrize("name", ["", "12", "a/b", "a\x1bb"])
async def test_a_group_that_cannot_be_named_is_refused(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.post("/api/v1/groups", json={"name": name})).status_code == 400
