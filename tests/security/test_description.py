"""Every route of /api/v1, asked for what its description allows and for what it does not: no 500, no other shape."""

from collections.abc import Iterator

import pytest
from httpx import Response
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.schemas import APIOperation

from tests.security.described import CHECKS, Described, an_api, has_rules, helped, hold, operations, plausible

EXAMPLES = 3
"""Of each route; tests/heavy asks for more."""
OPERATIONS = operations()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    with an_api(tmp_path_factory.mktemp("described")) as each:
        yield each


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.label)
def test_what_the_description_allows_is_answered_as_it_says(api: Described, operation: APIOperation) -> None:
    hold(api, operation, GenerationMode.POSITIVE, EXAMPLES)


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if has_rules(each)], ids=lambda each: each.label)
def test_what_it_does_not_allow_is_refused_in_the_same_shape(api: Described, operation: APIOperation) -> None:
    hold(api, operation, GenerationMode.NEGATIVE, EXAMPLES)


LIVES = {
    "/api/v1/users": ("/api/v1/users/{ref}", "username"),
    "/api/v1/groups": ("/api/v1/groups/{ref}", "name"),
    "/api/v1/models": ("/api/v1/models/{ref}", "name"),
    "/api/v1/model-routes": ("/api/v1/model-routes/{ref}", "name"),
    "/api/v1/keys": ("/api/v1/keys/{ref}", "name"),
}
"""What is made by a list's POST, and lives under its own path."""


@pytest.mark.parametrize("listed", LIVES)
def test_what_was_made_is_shown_changed_and_gone_as_described(api: Described, listed: str) -> None:
    """Each step on the object that the one before left, whatever a generated body made of it."""
    own, name = LIVES[listed]
    of = {(each.method.upper(), each.path): each for each in OPERATIONS}

    changes = helped(of["PATCH", own].as_strategy())

    def step(case: Case) -> Response:
        answer = api.ask(case)
        case.validate_response(answer, checks=CHECKS)
        return answer

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(changes, st.integers(0, 10**9))
    def live(change: Case, number: int) -> None:
        made = step(of["POST", listed].Case(body=plausible(listed, number), media_type="application/json"))
        assert made.status_code == 201, made.text
        change.path_parameters = place = {"ref": str(made.json()["id"])}
        assert step(of["GET", own].Case(path_parameters=place)).json()[name] == made.json()[name]
        step(change)
        assert step(of["GET", own].Case(path_parameters=place)).status_code == 200
        assert step(of["DELETE", own].Case(path_parameters=place)).status_code == 204
        assert step(of["GET", own].Case(path_parameters=place)).status_code == 404

    live()
