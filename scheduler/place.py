"""Decides where one replica goes, or says of every worker why it cannot."""

from collections.abc import Mapping, Sequence

from gpustack_lite.domain import Claim, Part, Placement, PlacementWish, Reason, Unplaceable
from scheduler.checks import NOBODY, About, Ask, allowed_chips, granted, split_address
from scheduler.memo import Memo
from scheduler.nearness import nearest_first
from scheduler.node import Node
from scheduler.rank import Candidate, best, best_team

Chosen = Mapping[str, tuple[int, ...]]


def place(
    nodes: Sequence[Node],
    claims: Sequence[Claim],
    wish: PlacementWish,
    *,
    backend: str | None = None,
    about: About = NOBODY,
    memo: Memo | None = None,
) -> Placement | Unplaceable:
    """The first claim that fits anywhere wins; `claims` are in order of preference.

    Deterministic, and the order of `nodes` does not matter. The reasons of an Unplaceable speak of the least demanding
    claim, the worker that came nearest first. `memo` changes no answer: it keeps what was found of workers on which
    nothing changed, for the next question of the same kind.
    """
    chosen = _chosen(wish)
    if (reason := _unheard(nodes, claims, wish, chosen)) is not None:
        return Unplaceable((reason,))
    asked = _asked(nodes, wish, chosen)
    able = _of_as_many_workers(claims, chosen)
    counts = tuple(sorted({claim.device_count for claim in able}))
    against: dict[Claim, list[Reason]] = {}
    for claim in able:
        ask = Ask(claim, wish, backend, about, chosen, _shares(claim, wish), allowed_chips(claim, wish), counts)
        found, against[claim] = (memo or Memo()).sort_out(asked, ask)
        if (placement := _placement(found, claim, wish, against[claim])) is not None:
            return placement
    return Unplaceable(nearest_first(against[least_demanding(able, wish)]))


def _placement(
    found: Sequence[Candidate], claim: Claim, wish: PlacementWish, reasons: list[Reason]
) -> Placement | None:
    """None, and one reason more, where workers would do but too few of them go together."""
    if claim.worker_count == 1:
        return Placement((_part(best(found)),), granted(claim, wish)) if found else None
    team = best_team(found, claim.worker_count)
    if isinstance(team, tuple):
        return Placement(tuple([_part(each) for each in team]), granted(claim, wish))
    reasons.append(_no_team(found, claim, team))
    return None


def _no_team(found: Sequence[Candidate], claim: Claim, able_count: int) -> Reason:
    """Whether they are too few at all, or only apart."""
    if isinstance(team := best_team([each._replace(network="") for each in found], claim.worker_count), tuple):
        where = ", ".join([f"{each.worker} ({each.network or '-'})" for each in _as_they_are(found, team)])
        return Reason(None, "team", "networks_differ", {"needed_count": claim.worker_count, "workers": where})
    return Reason(None, "team", "too_few_workers", {"needed_count": claim.worker_count, "able_count": able_count})


def _as_they_are(found: Sequence[Candidate], team: Sequence[Candidate]) -> list[Candidate]:
    names = {each.worker for each in team}
    return list({each.worker: each for each in sorted(found) if each.worker in names}.values())


def _part(winner: Candidate) -> Part:
    return Part(winner.worker, winner.devices)


def _asked(nodes: Sequence[Node], wish: PlacementWish, chosen: Chosen | None) -> Sequence[Node]:
    if chosen is None and not wish.workers:
        return nodes
    names = set(wish.workers or chosen or ())
    return [node for node in nodes if node.name in names and (chosen is None or node.name in chosen)]


def _shares(claim: Claim, wish: PlacementWish) -> bool:
    return claim.may_share and wish.share_chips


def _of_as_many_workers(claims: Sequence[Claim], chosen: Chosen | None) -> Sequence[Claim]:
    """Devices picked on several workers are for claims on as many."""
    return claims if chosen is None else [claim for claim in claims if claim.worker_count == len(chosen)]


def least_demanding(claims: Sequence[Claim], wish: PlacementWish) -> Claim:
    """By bytes in all, then by devices; where devices were picked, among the claims on as many."""
    picked = len(set(wish.devices)) or None
    able = [each for each in claims if picked in {None, each.device_count * each.worker_count}] or claims
    return min(able, key=lambda claim: (_bytes(claim), claim.device_count * claim.worker_count))


def _bytes(claim: Claim) -> int:
    return claim.worker_count * (claim.device_count * claim.bytes_per_device + claim.ram_bytes)


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
    if chosen is not None:
        return _wrong_choice(nodes, claims, wish, chosen)
    if wish.workers and not any([node.name in wish.workers for node in nodes]):
        return Reason(None, "workers", "wished_workers_unknown", {"workers": ", ".join(wish.workers)})
    return None


def _wrong_choice(nodes: Sequence[Node], claims: Sequence[Claim], wish: PlacementWish, chosen: Chosen) -> Reason | None:
    devices = ", ".join(wish.devices)
    if not _of_as_many_workers(claims, chosen):
        return Reason(None, "chosen", "chosen_on_several_workers", {"devices": devices})
    names = {node.name for node in nodes}
    for worker in chosen:
        if worker not in names:
            return Reason(worker, "chosen", "chosen_worker_unknown", {"worker": worker, "devices": devices})
        if wish.workers and worker not in wish.workers:
            params = {"worker": worker, "devices": devices, "workers": ", ".join(wish.workers)}
            return Reason(worker, "chosen", "chosen_worker_not_wished", params)
    return None
