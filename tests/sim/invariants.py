"""What must hold after every step, over plain facts. Each answers with the violations it found."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from gpustack_lite.lifecycle import MOVES, State
from tests.sim.facts import Address, Commit, Held, Moved, Placed


def devices_hold_what_they_can(limits: Mapping[Address, int], held: Iterable[Held]) -> list[str]:
    """S1. `limits` are total less reserve; an instance that is told twice on the same place counts once."""
    sums: dict[Address, int] = defaultdict(int)
    for each in set(held):
        for index in each.devices:
            sums[each.worker_id, index] += each.bytes_per_device
    return [f"S1: {place} holds {sums[place]} of {limits[place]}" for place in sums if sums[place] > limits[place]]


def placements_leave_others_alone(
    limits: Mapping[Address, int], held: Iterable[Held], placed: Iterable[Placed]
) -> list[str]:
    """S1, at the moment of placing: claims and foreign use fit together. `held` includes `placed`."""
    known = set(held)
    found = []
    for one in [each for leader in placed for each in (leader, *leader.followers)]:
        for index, foreign in one.foreign_bytes.items():
            theirs = sum(e.bytes_per_device for e in known if e.worker_id == one.worker_id and index in e.devices)
            if theirs + foreign > limits[one.worker_id, index]:
                found.append(f"S1: placing {one.instance_id} makes {theirs} beside {foreign} foreign bytes on {index}")
    return found


def placed_once(placed: Iterable[Placed]) -> list[str]:
    """S2. An instance gets one placement in its life: it is never overwritten, and no id is used again."""
    counts = Counter(each.instance_id for each in placed)
    return [f"S2: instance {id_} was placed {count} times" for id_, count in counts.items() if count > 1]


def one_process_each(shares: Iterable[tuple[int, int]]) -> list[str]:
    """S3. (instance id, rank) of every living process of every worker."""
    counts = Counter(shares)
    return [
        f"S3: instance {id_} has {count} processes of rank {rank}" for (id_, rank), count in counts.items() if count > 1
    ]


def claims_outlive_processes(processes: Iterable[Held], claims: Iterable[Held]) -> list[str]:
    """S4. A claim is freed only when nothing of its instance lives."""
    claimed = {(each.instance_id, each.worker_id) for each in claims}
    alive = {(each.instance_id, each.worker_id) for each in processes}
    return [f"S4: instance {id_} lives on worker {worker} without a claim" for id_, worker in sorted(alive - claimed)]


def chips_are_whole(whole: Collection[Address], held: Iterable[Held]) -> list[str]:
    """S5."""
    holders: dict[Address, set[int]] = defaultdict(set)
    for each in held:
        for index in each.devices:
            holders[each.worker_id, index].add(each.instance_id)
    return [f"S5: {place} is shared by {sorted(holders[place])}" for place in whole if len(holders[place]) > 1]


def moves_are_allowed(moved: Sequence[Moved], states: dict[int, State], last_at: int) -> list[str]:
    """S6. `states` is what each instance was in before, and is brought up to date; times never go back."""
    found = []
    for each in moved:
        if each.at < last_at:
            found.append(f"S6: instance {each.instance_id} moved at {each.at}, after {last_at}")
        last_at = max(last_at, each.at)
        if each.before is not None and each.after not in MOVES[each.before]:
            found.append(f"S6: instance {each.instance_id} went from {each.before} to {each.after}")
        if states.get(each.instance_id) != each.before:
            found.append(f"S6: instance {each.instance_id} left {each.before}, which it was not in")
        states[each.instance_id] = each.after
    return found


def never_goes_back(before: Mapping[int, tuple[int, int]], after: Mapping[int, tuple[int, int]]) -> list[str]:
    """S7. (epoch, revision) of the Assignment that each worker obeys."""
    return [f"S7: worker {id_} went from {before[id_]} to {after[id_]}" for id_ in before if after[id_] < before[id_]]


def only_the_leader_writes(commits: Iterable[Commit]) -> list[str]:
    """S10."""
    return [f"S10: a commit of epoch {each.mine} in {each.current}" for each in commits if each.mine != each.current]


def usage_counts_once(rows: Sequence[tuple[str, int]], truth: Mapping[str, int]) -> list[str]:
    """S14. Every request id at most once, with the tokens that the engine counted."""
    counts = Counter(request_id for request_id, _ in rows)
    found = [f"S14: {request_id} is counted {count} times" for request_id, count in counts.items() if count > 1]
    return found + [f"S14: {id_} has {tokens} tokens" for id_, tokens in rows if truth.get(id_) != tokens]
