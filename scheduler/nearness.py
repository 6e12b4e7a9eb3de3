"""Which refusing worker is nearest to taking a claim."""

from collections.abc import Sequence

from gpustack_lite.domain import Reason
from scheduler.checks import ORDER

_PLACES = {check: place for place, check in enumerate(ORDER)}


def nearest_first(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Whoever failed the latest check, and there by the least bytes, is nearest; names break ties."""
    return tuple(sorted(reasons, key=_distance))


def missing_bytes(reason: Reason) -> int:
    return (reason.needed_bytes or 0) - (reason.free_bytes or 0)


def _distance(reason: Reason) -> tuple[int, int, str]:
    place = _PLACES.get(reason.check, _PLACES["model"])
    return -place, missing_bytes(reason), reason.worker or ""
