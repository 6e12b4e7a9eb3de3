"""Why the other side of a relayed request gave no whole answer."""

from typing import Literal

Cause = Literal[
    "connect_failed",
    "connect_timeout",
    "closed_early",
    "first_byte_timeout",
    "idle_timeout",
    "not_http",
    "head_too_large",
    "answer_too_long",
]


class UpstreamFailed(Exception):
    """`has_answered` tells whether any byte of an answer had come."""

    def __init__(self, cause: Cause, *, has_answered: bool = False) -> None:
        super().__init__(cause)
        self.cause: Cause = cause
        self.has_answered = has_answered

    @property
    def never_reached(self) -> bool:
        return self.cause in {"connect_failed", "connect_timeout"}
