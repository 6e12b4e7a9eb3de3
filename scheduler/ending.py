"""Which instances would have to end so that a claim fits: the fewest, and by name."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from gpustack_lite.domain import Placement, Remedy, Unplaceable
from scheduler.place import place
from scheduler.question import Holding, Question

FOR_WANT_OF_ROOM = frozenset({"memory", "whole_chip", "ram", "unified", "disk", "apart"})
"""Checks that the end of something may pass."""
MOST_WORKERS = 8
MOST_TRIALS = 400


def fewest_to_end(question: Question, refused: Unplaceable) -> Iterator[Remedy]:
    """One remedy or none. Sets grow by one over all the nearest workers, so the first that helps is the smallest.

    Exact up to three instances within the number of trials; beyond that the biggest go until it fits, and those that
    turn out not to be needed stay.
    """
    workers = [worker for worker in full_workers(question, refused) if _others_on(question, worker)]
    found = next(_small_sets(question, workers), None) or next(_big_sets(question, workers), None)
    if found:
        names = ", ".join(each.name for each in found)
        yield Remedy("stop_instances", {"worker": found[0].worker, "instances": names, "count": len(found)})


def full_workers(question: Question, refused: Unplaceable) -> list[str]:
    full = [reason.worker for reason in refused.reasons if reason.check in FOR_WANT_OF_ROOM and reason.worker]
    return [worker for worker in full if question.held_on(worker)][:MOST_WORKERS]


def _others_on(question: Question, worker: str) -> list[Holding]:
    """A replica of the same model would only wait in the other's place."""
    own = question.about.model
    return [each for each in question.held_on(worker) if own is None or each.model != own]


def _small_sets(question: Question, workers: Sequence[str]) -> Iterator[Sequence[Holding]]:
    trials = 0
    for count in (1, 2, 3):
        for worker in workers:
            for some in combinations(smallest_first(_others_on(question, worker)), count):
                if (trials := trials + 1) > MOST_TRIALS:
                    return
                if _fits_without(question, worker, some):
                    yield some


def _big_sets(question: Question, workers: Sequence[str]) -> Iterator[Sequence[Holding]]:
    for worker in workers:
        ended: list[Holding] = []
        for each in reversed(smallest_first(_others_on(question, worker))):
            ended.append(each)
            if _fits_without(question, worker, ended):
                yield _needed(question, worker, ended)
                break


def _needed(question: Question, worker: str, ended: Sequence[Holding]) -> Sequence[Holding]:
    kept = list(ended)
    for each in ended:
        fewer = [other for other in kept if other is not each]
        kept = fewer if _fits_without(question, worker, fewer) else kept
    return kept


def smallest_first(holdings: Sequence[Holding]) -> list[Holding]:
    return sorted(holdings, key=lambda each: (_held_bytes(each), each.id))


def _held_bytes(held: Holding) -> int:
    return len(held.devices) * held.claim.bytes_per_device + held.claim.ram_bytes


def _fits_without(question: Question, worker: str, ended: Sequence[Holding]) -> bool:
    node = question.without(worker, {each.id for each in ended})
    if all(claim.worker_count == 1 for claim in question.claims):
        nodes = [node]
    else:
        nodes = [node if each.name == worker else each for each in question.nodes]
    answer = place(nodes, question.claims, question.wish, backend=question.backend, about=question.about)
    return isinstance(answer, Placement)
