"""What a key, a user and a model may use: requests and tokens per minute, at once, and by day and month."""

from gpustack_lite.gateway.answers import Field
from gpustack_lite.wire import Credential, ModelRoute


class Hold:
    """One admitted request. `fields` are the x-ratelimit headers of its answer."""

    __slots__ = ("fields",)

    def __init__(self, fields: tuple[Field, ...] = ()) -> None:
        self.fields = fields

    def leave(self, tokens: int | None) -> None:
        """The request has ended, however it did; `tokens` is what it used in all, None where nobody knows."""


UNLIMITED = Hold()


class Limiter:
    def enter(self, credential: Credential, route: ModelRoute) -> Hold:
        """
        Raises:
            Refusal: 429 `rate_limit_exceeded` or `insufficient_quota`.
        """
        return UNLIMITED
