"""Whichever way options and variables come, they are held against the policy of their engine."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from backends import registry
from backends.echo import ECHO
from backends.registry import Registry
from backends.vllm import VLLM

MODELS = "/api/v1/models"
PLAIN: Mapping[str, Any] = {"name": "m", "source": "none:", "backend": "echo"}
VLLMS: Mapping[str, Any] = {"name": "n", "source": "/models/m", "backend": "vllm"}


@pytest.fixture(autouse=True)
def real_engines(monkeypatch: pytest.MonkeyPatch, backends: None) -> None:
    monkeypatch.setattr(registry, "registry", lambda: Registry(MappingProxyType({"echo": ECHO, "vllm": VLLM})))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", MODELS, {**PLAIN, "name": "n", "env": {"LD_PRELOAD": "/x.so"}}, id="a new model"),
        pytest.param("PATCH", f"{MODELS}/m", {"env": {"LD_PRELOAD": "/x.so"}}, id="a change"),
        pytest.param("POST", "/api/v1/evaluate", {**PLAIN, "env": {"LD_PRELOAD": "/x.so"}}, id="a question"),
        pytest.param(
            "POST",
            "/api/v1/backends",
            {"name": "mine", "command": ["x"], "env": {"LD_PRELOAD": "/x.so"}},
            id="an engine that a person describes",
        ),
    ],
)
async def test_no_road_leads_round_the_check(
    client: httpx.AsyncClient, method: str, path: str, body: dict[str, object]
) -> None:
    await client.post(MODELS, json=PLAIN)
    answer = await client.request(method, path, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "env_not_allowed"


@pytest.mark.parametrize(("method", "path"), [("POST", MODELS), ("PATCH", f"{MODELS}/n"), ("POST", "/api/v1/evaluate")])
@pytest.mark.parametrize("option", ["trust-remote-code", "trust_remote_code", "trust", "worker-cls", "api-key"])
async def test_no_road_leads_round_the_options_of_an_engine(
    client: httpx.AsyncClient, method: str, path: str, option: str
) -> None:
    await client.post(MODELS, json=VLLMS)
    body = {"options": {option: True}} if method == "PATCH" else {**VLLMS, "name": "o", "options": {option: True}}
    answer = await client.request(method, path, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {"option_not_allowed", "option_unknown", "option_unknown_here"}
