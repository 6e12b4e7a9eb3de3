"""Who acts: set where a credential is accepted, read where a change is written down, so that no route hands it on.

It holds for one request. Whatever the platform does by itself acts for nobody.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Carrier = Literal["session", "key", "cli", "token", "none"]


@dataclass(frozen=True, slots=True)
class Actor:
    """`credential_id` is that of the session or key. A worker joins by a token; "none" is who has not signed in."""

    id: int | None
    name: str
    carrier: Carrier
    credential_id: int | None = None
    address: str | None = None
    request_id: str | None = None


_ACTOR: ContextVar[Actor | None] = ContextVar("actor", default=None)


def current() -> Actor | None:
    return _ACTOR.get()


def take_over(actor: Actor) -> None:
    """From here to the end of the request; to be called below `nobody`."""
    _ACTOR.set(actor)


@contextmanager
def nobody() -> Iterator[None]:
    """Around a request before its credential is known, and around what happens beside it without anybody's will."""
    with acting(None):
        yield


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)
