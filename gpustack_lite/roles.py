"""Roles, and what each may hold at most, whatever a key or a session says; pure."""

from collections.abc import Iterable
from typing import Literal

Role = Literal["admin", "user", "viewer"]
VIEWER = "viewer"
_AT_MOST = {VIEWER: frozenset({"read"})}
"""A role that is missing here is not bounded by this."""


def held(role: str, scopes: Iterable[str]) -> tuple[str, ...]:
    """Those of a key's scopes that its owner's role leaves it."""
    most = _AT_MOST.get(role)
    return tuple(each for each in scopes if most is None or each in most)


def session_scopes(role: str, *, must_change_password: bool) -> tuple[str, ...]:
    """What a gateway is told of a session: nothing stands for every scope, `password` for none that a gateway knows."""
    return ("password",) if must_change_password else tuple(sorted(_AT_MOST.get(role, ())))
