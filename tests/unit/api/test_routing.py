from typing import Any

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.db.tables import Change, Event
from tests.fakes.management import Api
from tests.fakes.rows import a_model

ROUTES = "/api/v1/model-routes"
MODELS = "/api/v1/models"


def to(*models: str) -> list[dict[str, object]]:
    return [{"model": each} for each in models]


@pytest.fixture(autouse=True)
async def model(api: Api) -> None:
    await api.add(a_model(name="m"))


async def made(client: httpx.AsyncClient, name: str = "alias", **fields: Any) -> httpx.Response:
    return await client.post(ROUTES, json={"name": name, "targets": to("m"), **fields})


def code_of(answer: httpx.Response) -> tuple[int, str, str | None]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


async def test_an_alias_needs_a_name_and_a_model(client: httpx.AsyncClient) -> None:
    answer = await made(client)
    assert answer.status_code == 201
    expected = {"name": "alias", "targets": [{"model": "m", "weight": 1}], "fallback": [], "warnings": []}
    assert expected.items() <= answer.json().items()
    for ref in ("alias", answer.json()["id"]):
        assert (await client.get(f"{ROUTES}/{ref}")).json() == answer.json()
    assert (await client.get(ROUTES)).json()["items"] == [answer.json()]


@pytest.mark.parametrize("spelling", ["org/gpt:q4", "org%2Fgpt:q4", "org%2Fgpt%3Aq4"])
async def test_a_name_may_hold_slashes_and_colons(client: httpx.AsyncClient, spelling: str) -> None:
    await made(client, "org/gpt:q4")
    assert (await client.get(f"{ROUTES}/{spelling}")).json()["name"] == "org/gpt:q4"
    assert (await client.delete(f"{ROUTES}/{spelling}")).status_code == 204


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        pytest.param({"targets": []}, "field_length", "targets", id="no target"),
        pytest.param(
            {"targets": [{"model": "m", "weight": -1}]}, "field_out_of_bounds", "targets.0.weight", id="below"
        ),
        pytest.param(
            {"targets": [{"model": "m", "weight": 1001}]}, "field_out_of_bounds", "targets.0.weight", id="above"
        ),
        pytest.param({"targets": [{"model": "m", "weight": 0.5}]}, "field_not_integer", "targets.0.weight", id="half"),
        pytest.param({"targets": [{"model": "m", "weight": 0}]}, "route_without_weight", "targets", id="nothing"),
        pytest.param({"targets": to("m", "m")}, "route_names_twice", "targets", id="twice"),
        pytest.param({"fallback": ["m", "m"]}, "route_names_twice", "fallback", id="twice in the fallback"),
        pytest.param({"targets": to("alias")}, "route_leads_to_route", "targets", id="itself"),
        pytest.param({"fallback": ["other"]}, "route_leads_to_route", "targets", id="another route"),
        pytest.param({"targets": to("\0")}, "text_not_whole", "targets", id="what no database holds"),
        pytest.param({"name": "a?b"}, "name_character", "name", id="a bad name"),
        pytest.param({"weight": 3}, "field_unknown", "weight", id="an unknown field"),
    ],
)
async def test_what_does_not_hold_is_refused_by_name(
    client: httpx.AsyncClient, fields: dict[str, Any], code: str, param: str
) -> None:
    await made(client, "other")
    assert code_of(await made(client, **fields)) == (400, code, param)
    assert (await client.get(ROUTES)).json()["total"] == 1


async def test_names_are_unique_over_models_and_routes_both_ways(client: httpx.AsyncClient) -> None:
    await made(client)
    assert code_of(await made(client)) == (409, "route_name_taken", "name")
    assert code_of(await made(client, "m")) == (409, "model_name_taken", "name")
    model = {"name": "alias", "source": "none:", "backend": "echo"}
    assert code_of(await client.post(MODELS, json=model)) == (409, "route_name_taken", "name")
    renamed = await client.patch(f"{ROUTES}/alias", json={"name": "m"})
    assert code_of(renamed) == (409, "model_name_taken", "name")


async def test_a_model_that_does_not_exist_is_warned_of_until_it_does(api: Api, client: httpx.AsyncClient) -> None:
    answer = (await made(client, targets=to("m", "later"), fallback=["later"])).json()
    assert [(each["code"], each["params"]["model"]) for each in answer["warnings"]] == [
        ("route_target_missing", "later")
    ]
    assert "later" in answer["warnings"][0]["message"]
    await client.post(MODELS, json={"name": "later", "source": "none:", "backend": "echo"})
    assert (await client.get(f"{ROUTES}/alias")).json()["warnings"] == []
    async with api.context.db.read() as session:
        told = [each for each in await session.exec(select(Change)) if each.kind == "model_route"]
    assert [len((each.document or {})["warnings"]) for each in told] == [1, 0]


async def test_a_patch_changes_what_it_names(client: httpx.AsyncClient) -> None:
    before = (await made(client, fallback=["m"])).json()
    after = (await client.patch(f"{ROUTES}/alias", json={"targets": [{"model": "x", "weight": 7}]})).json()
    assert (after["targets"], after["fallback"]) == ([{"model": "x", "weight": 7}], ["m"])
    unweighted = (await client.patch(f"{ROUTES}/alias", json={"targets": to("x"), "fallback": []})).json()
    assert (unweighted["targets"], unweighted["fallback"]) == ([{"model": "x", "weight": 1}], [])
    assert (await client.patch(f"{ROUTES}/alias", json={"name": "b"})).json()["id"] == before["id"]
    assert (await client.get(f"{ROUTES}/alias")).status_code == 404


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"targets": None}, "field_missing"),
        ({"targets": [{"model": "m", "weight": 0}]}, "route_without_weight"),
        ({"targets": [{"model": "alias"}]}, "route_leads_to_route"),
    ],
)
async def test_a_patch_is_held_against_the_same_rules(
    client: httpx.AsyncClient, patch: dict[str, Any], code: str
) -> None:
    before = (await made(client)).json()
    assert (await client.patch(f"{ROUTES}/alias", json=patch)).json()["error"]["code"] == code
    assert (await client.get(f"{ROUTES}/alias")).json() == before


async def test_a_model_that_routes_lead_to_is_not_deleted_under_them(client: httpx.AsyncClient) -> None:
    await made(client, "b", targets=to("x"), fallback=["m"])
    await made(client, "a")
    refused = await client.delete(f"{MODELS}/m")
    assert code_of(refused) == (409, "model_has_routes", None)
    assert refused.json()["error"]["params"]["routes"] == "a, b"
    for name in ("a", "b"):
        assert (await client.delete(f"{ROUTES}/{name}")).status_code == 204
    assert (await client.delete(f"{MODELS}/m")).status_code == 204


async def test_the_diary_and_the_watchers_hear_of_it(api: Api, client: httpx.AsyncClient) -> None:
    await made(client)
    await client.patch(f"{ROUTES}/alias", json={"fallback": ["x"]})
    await client.patch(f"{ROUTES}/alias", json={"fallback": ["x"]})
    await client.delete(f"{ROUTES}/alias")
    async with api.context.db.read() as session:
        events = [each for each in await session.exec(select(Event)) if each.kind.startswith("route_")]
        changes = [each for each in await session.exec(select(Change)) if each.kind == "model_route"]
    assert [each.kind for each in events] == ["route_created", "route_changed", "route_deleted"]
    assert [each.op for each in changes] == ["put", "put", "delete"]
    shown = (await client.get("/api/v1/events")).json()["items"]
    assert "Route alias was changed and leads to m, x." in [each["message"] for each in shown]


async def test_gateways_are_to_hear_of_it_at_once(api: Api, client: httpx.AsyncClient) -> None:
    with api.context.signals.listen("models") as listener:
        await made(client)
        assert await listener.wait(0.0)


async def test_only_an_administrator_changes_names(api: Api, client: httpx.AsyncClient) -> None:
    user = await api.user("ada", role="user")
    async with api.client(await api.key(user, "read", name="r")) as reader:
        assert (await reader.get(ROUTES)).status_code == 200
        assert (await reader.post(ROUTES, json={"name": "x", "targets": to("m")})).status_code == 403
