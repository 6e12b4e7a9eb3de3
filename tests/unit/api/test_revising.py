"""What a model's configuration was, by whom, and the way back to it."""

from typing import Any

import httpx
import pytest
import yaml

from gpustack_lite.db.tables import Model, ModelRevision
from tests.fakes.management import Api

MODELS = "/api/v1/models"
ECHO = {"name": "m", "source": "none:", "backend": "echo", "options": {"a": 1}, "env": {"HF_TOKEN": "canary", "A": "b"}}


@pytest.fixture
async def model(client: httpx.AsyncClient) -> dict[str, Any]:
    """Three generations: options, then replicas."""
    await client.post(MODELS, json=ECHO)
    await client.patch(f"{MODELS}/m", json={"options": {"a": 2}})
    made: dict[str, Any] = (await client.patch(f"{MODELS}/m", json={"replicas": 3})).json()
    return made


async def history(client: httpx.AsyncClient, *more: int) -> Any:
    answer = await client.get("/".join([MODELS, "m", "history", *map(str, more)]))
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.usefixtures("model")
async def test_every_generation_says_when_by_whom_and_what(client: httpx.AsyncClient) -> None:
    listed = await history(client)
    told = [(each["generation"], each["fields"], each["actor"], each["current"]) for each in listed["items"]]
    assert told == [(3, ["replicas"], "admin", True), (2, ["options"], "admin", False), (1, [], "admin", False)]
    assert (await history(client, 1))["spec"]["options"] == {"a": 1}


@pytest.mark.usefixtures("model")
async def test_a_change_of_nothing_makes_no_history(client: httpx.AsyncClient) -> None:
    await client.patch(f"{MODELS}/m", json={"replicas": 3})
    assert len((await history(client))["items"]) == 3


@pytest.mark.usefixtures("model")
async def test_going_back_is_a_new_generation_with_the_old_spec(client: httpx.AsyncClient) -> None:
    back = (await client.post(f"{MODELS}/m/rollback", json={"generation": 1})).json()
    assert (back["generation"], back["options"], back["replicas"]) == (4, {"a": 1}, 1)
    newest = (await history(client))["items"][0]
    assert (newest["generation"], sorted(newest["fields"])) == (4, ["options", "replicas"])


async def test_hidden_values_come_back_and_are_not_shown(api: Api, client: httpx.AsyncClient) -> None:
    await client.post(MODELS, json=ECHO)
    await client.patch(f"{MODELS}/m", json={"env": {"HF_TOKEN": "another"}})
    assert "canary" not in (await client.get(f"{MODELS}/m/history/1")).text
    await client.post(f"{MODELS}/m/rollback", json={"generation": 1})
    async with api.context.db.read() as session:
        stored = await session.get(Model, 1)
    assert stored is not None
    assert stored.env == {"HF_TOKEN": "canary", "A": "b"}


@pytest.mark.usefixtures("model")
async def test_a_generation_that_never_was_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.post(f"{MODELS}/m/rollback", json={"generation": 9})).status_code == 404
    assert (await client.get(f"{MODELS}/m/history/9")).status_code == 404


@pytest.mark.usefixtures("model")
async def test_going_back_passes_the_checks_of_a_change(api: Api, client: httpx.AsyncClient) -> None:
    async with api.context.db.write() as session:
        row = await session.get(ModelRevision, (1, 1))
        assert row is not None
        row.spec = row.spec | {"backend": "gone"}
        session.add(row)
    answer = await client.post(f"{MODELS}/m/rollback", json={"generation": 1})
    assert answer.json()["error"]["code"] == "unknown_backend"
    assert (await history(client))["items"][0]["generation"] == 3


@pytest.mark.usefixtures("model")
async def test_a_manager_goes_back_in_what_managers_change_and_no_further(api: Api, client: httpx.AsyncClient) -> None:
    user = await api.user("grace", "user")
    access = {"users": [], "groups": [], "managers": ["user:grace"]}
    await client.patch(f"{MODELS}/m", json={"access": access})
    await client.patch(f"{MODELS}/m", json={"replicas": 1})
    async with api.client(await api.key(user, "manage")) as grace:
        refused = await grace.post(f"{MODELS}/m/rollback", json={"generation": 2})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "field_admin_only")
        assert (await grace.post(f"{MODELS}/m/rollback", json={"generation": 4})).json()["replicas"] == 3


@pytest.mark.usefixtures("model")
async def test_who_does_not_manage_sees_no_names_and_who_may_not_use_sees_nothing(
    api: Api, client: httpx.AsyncClient
) -> None:
    user = await api.user("grace", "user")
    async with api.client(await api.key(user, "read")) as grace:
        assert {each["actor"] for each in (await history(grace))["items"]} == {None}
        await client.patch(f"{MODELS}/m", json={"access": {"users": [], "groups": [], "managers": []}})
        assert (await grace.get(f"{MODELS}/m/history")).status_code == 404


@pytest.mark.usefixtures("model")
async def test_a_spec_as_yaml_makes_the_same_model_again(client: httpx.AsyncClient) -> None:
    written = yaml.safe_dump((await history(client, 3))["spec"])
    assert (await client.patch(f"{MODELS}/m", json=yaml.safe_load(written))).json()["generation"] == 3
    await client.delete(f"{MODELS}/m")
    again = yaml.safe_load(written)
    refused = await client.post(MODELS, json=again)
    assert refused.json()["error"]["code"] == "env_value_hidden"
    again["env"]["HF_TOKEN"] = "given anew"
    assert (await client.post(MODELS, json=again)).status_code == 201
    spec = (await history(client, 1))["spec"]
    assert spec == yaml.safe_load(written)


async def test_the_oldest_generations_are_forgotten(
    api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpustack_lite.db.queries.revisions.KEPT", 2)
    await client.post(MODELS, json=ECHO)
    for replicas in (2, 3):
        await client.patch(f"{MODELS}/m", json={"replicas": replicas})
    assert [each["generation"] for each in (await history(client))["items"]] == [3, 2]
    await client.delete(f"{MODELS}/m")
    async with api.context.db.read() as session:
        assert await session.get(ModelRevision, (1, 3)) is None
