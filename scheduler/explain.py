"""Cuts the reasons of an Unplaceable down to what a row keeps and a person reads first."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack_lite.domain import Reason, Remedy, Sentence, Unplaceable

KEPT_REASONS = 20


@dataclass(frozen=True, slots=True)
class Explanation:
    """`said` is the reason of the worker that came nearest; `reason_counts` counts all reasons by code."""

    said: Sentence
    reasons: tuple[Reason, ...]
    reason_counts: Mapping[str, int]
    remedies: tuple[Remedy, ...]


def explain(unplaceable: Unplaceable, remedies: tuple[Remedy, ...] = (), most: int = KEPT_REASONS) -> Explanation:
    """At most `most` reasons; the counts tell of all. Equal for equal snapshots, so a row changes only when it must."""
    counts = Counter(reason.code for reason in unplaceable.reasons)
    nearest = unplaceable.reasons[0]
    return Explanation(
        said=Sentence(nearest.code, nearest.params),
        reasons=unplaceable.reasons[:most],
        reason_counts=dict(sorted(counts.items())),
        remedies=remedies or unplaceable.remedies,
    )
