"""The whole of /api/v1 as its own description tells it, on a database with a row of everything."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from gpustack_lite.api import reading_logs
from gpustack_lite.api.app import described
from gpustack_lite.db.tables import Event, Group, ModelFile, ModelRouteRow
from tests.fakes.clock import START
from tests.fakes.management import PASSWORD, Api, migrated, running
from tests.fakes.rows import a_device, a_model, a_placed_instance, a_worker

STREAMS = {("GET", "/api/v1/watch")}
"""An answer that does not end."""
NAMES = ("a", "Ab-1", "org/name", "root", "m", "ü")
HELPED: dict[str, tuple[Any, ...]] = {
    "ref": ("1", "2", "m", "org/name", "root", "w1:0", "echo", "second", "alias", "g"),
    "name": (*NAMES, "hub_token", "echo", "mine"),
    "user": ("1", "second"),
    "model": ("m", "1"),
    "worker": ("w1", "1"),
    "instance": ("1",),
    "generation": (1, 2),
    "file_id": ("file-1",),
    "batch_id": ("batch_1",),
    "sort": ("id", "-id", "name"),
    "username": NAMES,
    "password": ("a password of many words", "short"),
    "current_password": (PASSWORD,),
    "new_password": ("another of many words",),
    "source": (
        "none:",
        "hf:org/name",
        "hf:org/name@main",
        "modelscope:org/name",
        "url:https://example.com/a.gguf",
        "/x",
    ),
    "backend": ("echo", "llama_cpp", "vllm"),
    "options": ({}, {"context_length": 512}, {"no": [1]}),
    "env": ({}, {"A": "b"}),
    "placement": ({}, {"workers": ["w1"]}),
    "targets": ([{"model": "m", "weight": 1}], [{"model": "m", "weight": 1}, {"model": "org/name", "weight": 2}]),
    "fallback": ([], ["m"]),
    "limits": (None, {}, {"requests_per_minute": 1}),
    "access": (None, {"users": ["second"], "groups": ["g"]}),
    "autoscale": (None, {"max": 2}),
    "scopes": (["inference"], ["read", "manage"]),
    "models": (["*"], ["org/*"]),
    "groups": ([], ["g"]),
    "expires_at": (None, "2099-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"),
    "since": ("2026-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"),
    "from": ("2026-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"),
}
"""What a stranger to the schema's words would not guess, and what is there."""


def operations() -> list[APIOperation]:
    schema = schemathesis.openapi.from_dict(described().openapi())
    found = [each.ok() for each in schema.get_all_operations()]
    return [each for each in found if (each.method.upper(), each.path) not in STREAMS]


def has_rules(operation: APIOperation) -> bool:
    """Whether something can be sent that its schema refuses: a text in the path alone cannot be."""
    return bool(operation.body) or bool(list(operation.query))


@st.composite
def helped(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> Case:
    """A case of the schema in which some of the words are ones that mean something here."""
    case = draw(cases)
    for part in (case.path_parameters, case.query, case.body):
        if not isinstance(part, dict):
            continue
        for name in sorted(part.keys() & HELPED.keys()):
            if draw(st.integers(0, 3)):
                part[name] = draw(st.sampled_from(HELPED[name]))
    for name in set(case.query or {}) & {"cursor", "sort", "q", "after", "noted"}:
        if draw(st.booleans()):
            del case.query[name]
    return case


def plausible(path: str, number: int) -> dict[str, Any]:
    """A body that the list at this path takes, with a name that nothing has yet."""
    name = f"n{number}"
    return {
        "/api/v1/users": {"username": name},
        "/api/v1/groups": {"name": name, "members": ["second"]},
        "/api/v1/models": {"name": name, "source": "none:", "backend": "echo", "replicas": 0},
        "/api/v1/model-routes": {"name": name, "targets": [{"model": "m"}]},
        "/api/v1/keys": {"name": name},
    }[path]


OURS = {"authorization", "cookie", "host", "content-length", "transfer-encoding", "connection"}
"""Headers that carry the request itself."""


class Described:
    """One API and one loop for many examples; `ask` sends a case as httpx would and holds the answer against it."""

    def __init__(self, api: Api, client: httpx.AsyncClient, runner: asyncio.Runner) -> None:
        self._api, self._client, self._runner = api, client, runner

    def send(self, method: str, path: str, **given: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **given))

    def ask(self, case: Case) -> httpx.Response:
        sent = case.as_transport_kwargs(base_url="http://localhost")
        headers = {name: value for name, value in dict(case.headers or {}).items() if name.lower() not in OURS}
        given = {key: sent[key] for key in ("params", "json", "data", "files") if sent.get(key) is not None}
        if isinstance(given.get("data"), bytes):
            given["content"] = given.pop("data")
        return self.send(sent["method"], sent["url"], headers=headers, **given)


def no_mistake_of_ours(context: object, answer: object, case: Case) -> None:
    """503 is a refusal like others: a worker that says nothing, a database that is away. 500 is never meant."""
    status = answer.status_code  # type: ignore[attr-defined]
    assert status < 500 or status == 503, f"{case.method} {case.path}: {status}"


CHECKS = [no_mistake_of_ours, status_code_conformance, content_type_conformance, response_schema_conformance]
"""What every answer is held against, whatever was asked."""


@contextmanager
def an_api(folder: Path) -> Iterator[Described]:
    with asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading_logs, "WORKER_SECONDS", 0.01)  # nobody answers for the worker of these rows
        template = runner.run(migrated(folder / "empty.db"))
        context = running(folder, template)
        api = runner.run(context.__aenter__())
        secret = runner.run(_filled(api))
        client = api.client(secret)
        try:
            yield Described(api, client, runner)
        finally:
            runner.run(client.aclose())
            runner.run(context.__aexit__(None, None, None))


def hold(api: Described, operation: APIOperation, mode: GenerationMode, examples: int) -> None:
    """So many cases of one route, each answer in its schema and none a 500."""
    cases = operation.as_strategy(generation_mode=mode)
    asked = helped(cases) if mode is GenerationMode.POSITIVE else cases

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(asked)
        case.validate_response(api.ask(case), checks=CHECKS)

    ask()


async def _filled(api: Api) -> str:
    """A row of everything; answers with an administrator's secret."""
    admin = await api.user("root")
    await api.user("second", "user")
    await api.key(admin, "inference", name="used")
    at = {"created_at": START, "updated_at": START}
    rows: list[Any] = [
        a_model(id=1, backend="echo", source="none:"),
        a_model(id=2, name="org/name", backend="echo", source="none:"),
        a_worker(1, state="silent"),
        a_device(0),
        a_placed_instance(1),
        Group(name="g", created_at=START),
        ModelRouteRow(name="alias", targets=[{"model": "m", "weight": 1}], **at),
        ModelFile(worker_id=1, source="hf:org/name", **at),
        Event(at=START, kind="model_created", model_id=1, model_name="m"),
    ]
    for row in rows:
        await api.add(row)
    return await api.key(admin, "manage", "inference", "read", name="asks")
