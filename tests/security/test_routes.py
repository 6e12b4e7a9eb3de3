"""Every route is in the table with its guard, and asked from outside without a credential it lets nobody in."""

from collections.abc import Iterator

import httpx
import pytest

from scripts.security_surface import GATEWAY, INSIDE, OPEN, RULES, Route, filled, server_routes
from tests.harness import Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
NOT_LET_IN = {401, 403, 404}


@pytest.fixture(scope="session")
def stranger(platform: Platform) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=platform.url, trust_env=False, timeout=30) as client:
        yield client


def test_no_route_is_open_that_is_not_in_the_short_list() -> None:
    assert {(each.method, each.path) for each in server_routes() if each.guard == "open"} <= OPEN | {
        ("GET", "/api/internal/readyz")
    }
    assert {each.guard for each in server_routes()} <= RULES.keys()
    assert {(each.method, each.path) for each in GATEWAY if each.guard == "open"} <= OPEN


@pytest.mark.parametrize("route", [*server_routes(), *GATEWAY], ids=lambda each: f"{each.method} {each.path}")
def test_a_stranger_is_let_in_nowhere_else(stranger: httpx.Client, route: Route) -> None:
    answer = stranger.request(route.method, filled(route.path), json={})
    if route.path.startswith(INSIDE):
        assert answer.status_code == 404
    elif (route.method, route.path) in OPEN:
        assert answer.status_code in {200, 400, 401, 422}
    else:
        assert answer.status_code in NOT_LET_IN
        assert "error" in answer.json()


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/api/openapi.json", "/debug", "/serveLogs"])
def test_no_description_and_no_debugging_is_open(stranger: httpx.Client, path: str) -> None:
    """The console answers with its own page for what it may know as a place of its own."""
    answer = stranger.get(path)
    assert answer.status_code in NOT_LET_IN or "<div id=" in answer.text
    assert "swagger" not in answer.text.lower()
    assert "paths" not in answer.text
