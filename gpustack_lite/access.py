"""Who may use and see which model, and who may manage it: the same for the API and for what gateways are told. Pure.

A model without `access` is everybody's. A route without one needs the access of all models that it leads to.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Stored = Mapping[str, Any] | None
"""wire.Access as a column holds it."""


@dataclass(frozen=True, slots=True)
class Person:
    user_id: int
    role: str
    groups: frozenset[int] = frozenset()

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"

    @property
    def names(self) -> frozenset[str]:
        """As managers are named."""
        return frozenset({f"user:{self.user_id}", *(f"group:{each}" for each in self.groups)})


@dataclass(frozen=True, slots=True)
class Sight:
    """What is hidden from one person: ids of models, and public names of models and routes."""

    models: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    is_whole: bool = True
    """An administrator's."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A model or a route. `leads_to` are a route's models."""

    id: int
    name: str
    access: Stored
    leads_to: tuple[str, ...] = ()


def may_use(access: Stored, person: Person) -> bool:
    if person.is_admin or access is None:
        return True
    is_named = person.user_id in access.get("users", ()) or not person.groups.isdisjoint(access.get("groups", ()))
    return is_named or may_manage(access, person)


def may_manage(access: Stored, person: Person) -> bool:
    return person.is_admin or (access is not None and not person.names.isdisjoint(access.get("managers", ())))


def sight(models: Iterable[Guarded], routes: Iterable[Guarded], person: Person) -> Sight:
    if person.is_admin:
        return Sight()
    hidden = [each for each in models if not may_use(each.access, person)]
    names = frozenset(each.name for each in hidden)
    closed = (each.name for each in routes if not _may_use_route(each, names, person))
    return Sight(frozenset(each.id for each in hidden), names | set(closed), is_whole=False)


def _may_use_route(route: Guarded, hidden: frozenset[str], person: Person) -> bool:
    return hidden.isdisjoint(route.leads_to) if route.access is None else may_use(route.access, person)
