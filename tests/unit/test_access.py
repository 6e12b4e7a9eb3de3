"""Who may use, see and manage which model."""

from typing import Any

import pytest

from gpustack_lite.access import Guarded, Person, Sight, may_manage, may_use, sight

ADMIN = Person(1, "admin")
ADA = Person(7, "user", frozenset({2}))
EVE = Person(8, "viewer")


@pytest.mark.parametrize(
    ("access", "who", "uses", "manages"),
    [
        pytest.param(None, EVE, True, False, id="everybody's"),
        pytest.param(None, ADMIN, True, True, id="an admin manages all"),
        pytest.param({"users": [], "groups": [], "managers": []}, ADA, False, False, id="administrators only"),
        pytest.param({"users": [7]}, ADA, True, False, id="a user"),
        pytest.param({"groups": [2]}, ADA, True, False, id="a group"),
        pytest.param({"groups": [7], "users": [2]}, ADA, False, False, id="numbers of the other kind"),
        pytest.param({"managers": ["user:7"]}, ADA, True, True, id="a manager"),
        pytest.param({"managers": ["group:2"]}, ADA, True, True, id="a managing group"),
        pytest.param({"managers": ["group:7", "user:2"]}, ADA, False, False, id="managers of the other kind"),
        pytest.param({"users": [7]}, ADMIN, True, True, id="an admin sees what is others'"),
    ],
)
def test_access_names_who_may(access: Any, who: Person, uses: bool, manages: bool) -> None:
    assert (may_use(access, who), may_manage(access, who)) == (uses, manages)


def test_a_route_without_access_needs_that_of_all_its_models() -> None:
    models = [Guarded(1, "open", None), Guarded(2, "closed", {"users": [1]})]
    routes = [
        Guarded(1, "both", None, ("open", "closed")),
        Guarded(2, "one", None, ("open", "gone")),
        Guarded(3, "own", {"users": [7]}, ("closed",)),
        Guarded(4, "foreign", {"users": [8]}, ("open",)),
    ]
    assert sight(models, routes, ADA) == Sight(frozenset({2}), frozenset({"closed", "both", "foreign"}), is_whole=False)
    assert sight(models, routes, ADMIN) == Sight()
