"""The whole management API under requests that its own description allows, and under many that it does not.

schemathesis makes them from the OpenAPI of /api/v1; a real platform answers. No answer is a 500, and each is one that
the description names, in its shape. `GPUSTACK_LITE_API_EXAMPLES=1000` makes it long (`make test-heavy` takes 200).
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from gpustack_lite.api.app import described
from tests.harness import Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
EXAMPLES = int(os.environ.get("GPUSTACK_LITE_API_EXAMPLES", "6"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ENDLESS = {"GET /api/v1/watch", "GET /api/v1/instances/{ref}/logs"}
"""Streams: their tests read them to an end that they make."""
ENDS_THE_SESSION = {"POST /api/v1/auth/logout"}
OPERATIONS = {
    operation.ok().label: operation.ok()
    for operation in schemathesis.openapi.from_dict(described().openapi()).get_all_operations()
}
ROLES = ("admin", "user")
KNOWN = ("", "1", "2", "there")
"""References of rows that are mostly there; with "" the one that was made up stays."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform"), simulate="2x910B3-64G") as platform:
        platform.deploy("there", backend="echo", replicas=0)
        yield platform


class Callers:
    """Somebody signed in for each role, with all that the role may; who was shut out by what was asked comes again."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._known: dict[str, requests.Session] = {}
        self._made = 0

    def all(self) -> list[requests.Session]:
        return [self._of(role) for role in ROLES]

    def _of(self, role: str) -> requests.Session:
        known = self._known.get(role)
        if known is None or known.get(f"{self._platform.url}/api/v1/models").status_code != 200:
            self._known[role] = self._new(role)
        return self._known[role]

    def _new(self, role: str) -> requests.Session:
        self._made += 1
        made = self._platform.api.post("/api/v1/users", json={"username": f"tries-{self._made}", "role": role}).json()
        found = requests.Session()
        found.trust_env = False
        passwords = {"current": made["password"], "new": "a long enough passphrase"}
        self._sign_in(found, made["username"], passwords["current"])
        assert found.post(f"{self._platform.url}/api/v1/auth/password", json=passwords).status_code == 204
        self._sign_in(found, made["username"], passwords["new"])
        return found

    def _sign_in(self, caller: requests.Session, username: str, password: str) -> None:
        who = {"username": username, "password": password}
        answer = requests.post(f"{self._platform.url}/api/v1/auth/login", json=who, timeout=60)
        caller.headers["Authorization"] = f"Bearer {answer.json()['token']}"


@pytest.fixture(scope="module")
def callers(platform: Platform) -> Callers:
    return Callers(platform)


@pytest.mark.parametrize("label", sorted(set(OPERATIONS) - ENDLESS - ENDS_THE_SESSION))
def test_nothing_that_is_asked_ends_in_a_500_or_in_another_shape(
    platform: Platform, callers: Callers, label: str
) -> None:
    those = callers.all()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=not os.environ.get("CI"),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[label].as_strategy(), known=st.sampled_from(KNOWN))
    def ask(case: Any, known: str) -> None:
        if known and "ref" in (case.path_parameters or {}):
            case.path_parameters["ref"] = known
        for caller in those:
            answer = case.call(base_url=platform.url, session=caller, timeout=60)
            case.validate_response(answer, checks=CHECKS)

    ask()
