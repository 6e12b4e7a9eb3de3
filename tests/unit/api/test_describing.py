"""With the backends that come with the program."""

from typing import Any

import httpx
import pytest

from backends import registry
from backends.registry import Registry, load
from tests.fakes.management import Api
from tests.fakes.rows import a_worker

BACKENDS = "/api/v1/backends"
SPEC = {
    "name": "mine",
    "command": ["prog", "--port", "{port}", "--model", "{model_path}", "--name", "{model_name}"],
    "env": {},
    "device_kinds": ["cpu"],
    "probe": {"path": "/health", "deadline_seconds": 60},
    "claim": {"device_count": 0, "bytes_per_device": 0, "ram_bytes": 100_000_000},
}


@pytest.fixture(autouse=True)
def real_backends(backends: None, monkeypatch: pytest.MonkeyPatch) -> None:
    own: Registry = load([])
    monkeypatch.setattr(registry, "registry", lambda: own)


async def test_the_backends_of_the_program_are_listed_with_help_for_their_options(client: httpx.AsyncClient) -> None:
    found = {each["name"]: each for each in (await client.get(BACKENDS)).json()["items"]}
    assert {"llama_cpp", "custom", "echo"} <= set(found)
    assert found["llama_cpp"]["builtin"] is True
    assert all(option["help"] for option in found["llama_cpp"]["options"])
    assert "/v1/chat/completions" in found["llama_cpp"]["paths"]


async def test_a_described_backend_is_kept_listed_and_used_by_name(client: httpx.AsyncClient) -> None:
    answer = await client.post(BACKENDS, json=SPEC)
    assert answer.status_code == 201
    assert (answer.json()["name"], answer.json()["builtin"]) == ("mine", False)
    assert answer.json()["spec"] == {name: value for name, value in SPEC.items() if name != "name"}
    assert (await client.get(f"{BACKENDS}/mine")).json() == answer.json()
    made = await client.post("/api/v1/models", json={"name": "m", "source": "none:", "backend": "mine"})
    assert made.status_code == 201, made.text


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"command": []}, id="no command"),
        pytest.param({"command": ["prog", "{nothing}"]}, id="unknown placeholder"),
        pytest.param({"command": "prog"}, id="command no list"),
        pytest.param({"name": "a b"}, id="name with a space"),
        pytest.param({"name": None}, id="no name"),
        pytest.param({"device_kinds": ["tpu"]}, id="unknown kind"),
        pytest.param({"probe": {"path": "health"}}, id="probe without slash"),
        pytest.param({"claim": {"device_count": -1}}, id="negative claim"),
        pytest.param({"colour": "red"}, id="unknown field"),
        pytest.param({"env": {"A": 1}}, id="variable no text"),
    ],
)
async def test_a_description_that_could_not_be_launched_is_refused(
    client: httpx.AsyncClient, change: dict[str, Any]
) -> None:
    answer = await client.post(BACKENDS, json=SPEC | change)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"] != answer.json()["error"]["code"]
    assert (await client.get(f"{BACKENDS}/mine")).status_code == 404


@pytest.mark.parametrize("name", ["mine", "echo", "llama_cpp", "custom"])
async def test_a_name_that_is_taken_is_refused(client: httpx.AsyncClient, name: str) -> None:
    await client.post(BACKENDS, json=SPEC)
    answer = await client.post(BACKENDS, json=SPEC | {"name": name})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "backend_exists")


async def test_a_backend_in_use_stays_until_its_model_is_gone(client: httpx.AsyncClient) -> None:
    await client.post(BACKENDS, json=SPEC)
    await client.post("/api/v1/models", json={"name": "m", "source": "none:", "backend": "mine"})
    refused = await client.delete(f"{BACKENDS}/mine")
    assert (refused.status_code, refused.json()["error"]["params"]["model"]) == (409, "m")
    await client.delete("/api/v1/models/m")
    assert (await client.delete(f"{BACKENDS}/mine")).status_code == 204
    assert (await client.delete(f"{BACKENDS}/mine")).status_code == 404


async def test_what_comes_with_the_program_stays(client: httpx.AsyncClient) -> None:
    answer = await client.delete(f"{BACKENDS}/echo")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "backend_builtin")


async def test_versions_say_what_can_be_installed_and_who_has_what(api: Api, client: httpx.AsyncClient) -> None:
    default = (await client.get(f"{BACKENDS}/llama_cpp/versions")).json()["items"][0]
    assert default["is_default"] is True
    reported = [
        {"backend": "llama_cpp", "version": default["version"], "source": default["source"], "installed": True},
        {"backend": "llama_cpp", "version": "b9999", "source": "path", "installed": True},
        {"backend": "echo", "version": "1", "source": "builtin", "installed": True},
    ]
    await api.add(a_worker(1, backend_versions=reported))
    first, *_, last = (await client.get(f"{BACKENDS}/llama_cpp/versions")).json()["items"]
    assert (first["version"], first["workers"]) == (default["version"], ["w1"])
    assert (last["version"], last["source"], last["workers"], last["is_default"]) == ("b9999", "path", ["w1"], False)
    assert (await client.get(f"{BACKENDS}/nothing/versions")).status_code == 404


@pytest.mark.parametrize("option", ["port", "host", "api-key"])
async def test_an_option_that_leaves_the_sandbox_is_refused_when_the_backend_is_known(
    client: httpx.AsyncClient, option: str
) -> None:
    body = {"name": "m", "source": "/m.gguf", "backend": "llama_cpp", "options": {option: "1"}}
    answer = await client.post("/api/v1/models", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "option_not_allowed")
    assert option in answer.json()["error"]["message"]
