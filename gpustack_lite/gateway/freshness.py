"""How long ago the server last confirmed what we serve from: a revoked key must not live for ever."""

from collections.abc import Callable

from gpustack_lite.errors import Refusal


class Freshness:
    """Monotonic seconds; before a first confirmation there is nothing to serve from."""

    def __init__(self, now: Callable[[], float], limit_seconds: float) -> None:
        self._now = now
        self._limit_seconds = limit_seconds
        self.confirmed_at: float | None = None

    def confirm(self, age_seconds: float = 0.0) -> None:
        self.confirmed_at = self._now() - age_seconds

    @property
    def age_seconds(self) -> float | None:
        return None if self.confirmed_at is None else self._now() - self.confirmed_at

    def check(self) -> None:
        """
        Raises:
            Refusal: `routes_missing` or `routes_stale`, both 503.
        """
        if self.confirmed_at is None:
            raise Refusal("routes_missing", status=503)
        age = self._now() - self.confirmed_at
        if age > self._limit_seconds:
            raise Refusal(
                "routes_stale",
                status=503,
                age_hours=round(age / 3600, 1),
                limit_hours=round(self._limit_seconds / 3600, 1),
            )
