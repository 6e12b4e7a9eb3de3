"""Decides where one replica goes, or says of every worker why it cannot."""

from collections.abc import Mapping, Sequence

from gpustack_lite.domain import Claim, Part, Placement, PlacementWish, Reason, Unplaceable
from scheduler.checks import Ask, split_address, view, why_not
from scheduler.nearness import nearest_first
from scheduler.node import Node
from scheduler.rank import Candidate, best, candidate

Chosen = Mapping[str, tuple[int, ...]]


def place(
    nodes: Sequence[Node], claims: Sequence[Claim], wish: PlacementWish, *, backend: str | None = None
) -> Placement | Unplaceable:
    """The first claim that fits anywhere wins; `claims` are in order of preference.

    Deterministic, and the order of `nodes` does not matter. The reasons of an Unplaceable speak of the least demanding
    claim, the worker that came nearest first.
    """
    chosen = _chosen(wish)
    if (reason := _unheard(nodes, claims, wish, chosen)) is not None:
        return Unplaceable((reason,))
    asked = nodes if chosen is None else [node for node in nodes if node.name in chosen]
    against: dict[Claim, list[Reason]] = {}
    for claim in claims:
        candidates, against[claim] = _sort_out(asked, Ask(claim, wish, backend, chosen))
        if candidates:
            return _placement(best(candidates), claim)
    return Unplaceable(nearest_first(against[least_demanding(claims, wish)]))


def _sort_out(nodes: Sequence[Node], ask: Ask) -> tuple[list[Candidate], list[Reason]]:
    candidates, reasons = [], []
    for node in nodes:
        seen = view(node, ask)
        reason = why_not(seen)
        if reason is None:
            candidates.append(candidate(seen))
        else:
            reasons.append(reason)
    return candidates, reasons


def _placement(winner: Candidate, claim: Claim) -> Placement:
    return Placement((Part(winner.worker, winner.devices),), claim)


def least_demanding(claims: Sequence[Claim], wish: PlacementWish) -> Claim:
    """By bytes in all, then by devices; where devices were picked, among the claims on as many."""
    picked = len(set(wish.devices)) or None
    able = [claim for claim in claims if picked is None or claim.device_count == picked] or claims
    return min(
        able, key=lambda claim: (claim.device_count * claim.bytes_per_device + claim.ram_bytes, claim.device_count)
    )


def _chosen(wish: PlacementWish) -> Chosen | None:
    """Indices by worker."""
    if not wish.devices:
        return None
    chosen: dict[str, tuple[int, ...]] = {}
    for address in dict.fromkeys(wish.devices):
        worker, index = split_address(address)
        chosen[worker] = (*chosen.get(worker, ()), index)
    return chosen


def _unheard(
    nodes: Sequence[Node], claims: Sequence[Claim], wish: PlacementWish, chosen: Chosen | None
) -> Reason | None:
    """What stands against the whole question, before any worker is asked."""
    if not claims:
        return Reason(None, "claims", "nothing_claimed")
    if not nodes:
        return Reason(None, "workers", "no_workers")
    if chosen is None:
        return None
    if len(chosen) > 1:
        return Reason(None, "chosen", "chosen_on_several_workers", {"devices": ", ".join(wish.devices)})
    worker = next(iter(chosen))
    if worker not in {node.name for node in nodes}:
        return Reason(worker, "chosen", "chosen_worker_unknown", {"worker": worker, "devices": ", ".join(wish.devices)})
    return None
