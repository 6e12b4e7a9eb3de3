"""Leaves out steps of a failing run as long as it still fails in the same way (delta debugging)."""

from collections.abc import Callable, Sequence

from tests.sim.steps import Step


def shrink(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool], most_runs: int = 2000) -> list[Step]:
    """The ddmin of Zeller and Hildebrandt (2002), complements only; stops after `most_runs` tries."""
    kept, pieces, runs = list(steps), 2, 0
    while len(kept) > 1 and runs < most_runs:
        size = -(-len(kept) // pieces)
        for start in range(0, len(kept), size):
            runs += 1
            without = kept[:start] + kept[start + size :]
            if fails(without):
                kept, pieces = without, max(2, pieces - 1)
                break
        else:
            if size == 1:
                return kept
            pieces = min(len(kept), pieces * 2)
    return kept
