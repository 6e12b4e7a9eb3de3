"""How long placements take on 1,000 workers x 8 devices with 5,000 live claims, beside a bare walk over them.

One placement alone, and many in one round as the server decides them: alike replicas, or six models in turn.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from gpustack_lite.chips import GIB, Declared, declared_devices
from gpustack_lite.domain import Claim, Placement, PlacementWish
from scheduler import Memo, Node, occupied, place, reserve

HELD = Claim(1, 14 * GIB, GIB, frozenset({"cuda"}))
TOO_MUCH = Claim(1, 140 * GIB, GIB, frozenset({"cuda"}))


def snapshot(workers: int, devices: int, claims: int) -> tuple[Node, ...]:
    spec = (Declared(devices, "H100", "cuda", 80 * GIB),)
    return tuple(
        occupied(
            Node(f"w{i:05}", devices=declared_devices(f"w{i:05}", spec), ram_total_bytes=1024 * GIB),
            [((j % devices,), HELD) for j in range(claims // workers + (i < claims % workers))],
        )
        for i in range(workers)
    )


def seconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def walk(nodes: Sequence[Node]) -> int:
    """The least that anybody must do: look at every device once."""
    return sum(each.memory_total_bytes or 0 for node in nodes for each in node.devices)


def round_of_placements(nodes: tuple[Node, ...], wish: PlacementWish) -> tuple[Node, ...]:
    answer = place(nodes, [HELD], wish)
    assert isinstance(answer, Placement)
    return reserve(nodes, answer)


def measure(workers: int, devices: int, claims: int, rounds: int) -> dict[str, list[float]]:
    """Interleaved, so that a busy machine is busy for all of them."""
    taken: dict[str, list[float]] = {}
    nodes = snapshot(workers, devices, claims)
    for _ in range(rounds):
        fresh = snapshot(workers, devices, claims)
        for name, act in {
            "walk over every device": lambda: walk(nodes),
            "place, first of a snapshot": lambda fresh=fresh: place(fresh, [HELD], PlacementWish()),
            "place and reserve, spread": lambda: round_of_placements(nodes, PlacementWish()),
            "place and reserve, binpack": lambda: round_of_placements(nodes, PlacementWish(strategy="binpack")),
            "refuse with all reasons": lambda: place(nodes, [TOO_MUCH], PlacementWish()),
        }.items():
            taken.setdefault(name, []).append(seconds(act))
    return taken


def many(nodes: tuple[Node, ...], claims: Sequence[Claim], count: int, strategy: Literal["spread", "binpack"]) -> None:
    """A round: each sees what the ones before it took."""
    memo, wish = Memo(), PlacementWish(strategy=strategy)
    for i in range(count):
        answer = place(nodes, [claims[i % len(claims)]], wish, memo=memo)
        assert isinstance(answer, Placement)
        nodes = reserve(nodes, answer)


def growth(workers: int, devices: int, claims: int, most: int) -> None:
    six = [replace(HELD, bytes_per_device=gib * GIB) for gib in (6, 8, 10, 12, 14, 16)]
    print(f"{'CPU seconds for a round of':28} " + "".join(f"{most // part:>10}" for part in (8, 4, 2, 1)))
    for name, asked, strategy in (
        ("one model, spread", [HELD], "spread"),
        ("one model, binpack", [HELD], "binpack"),
        ("six models in turn, spread", six, "spread"),
    ):
        taken = []
        for part in (8, 4, 2, 1):
            nodes = snapshot(workers, devices, claims)
            taken.append(seconds(partial(many, nodes, asked, most // part, strategy)))
        print(f"{name:28} " + "".join(f"{each:10.2f}" for each in taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {"workers": 1000, "devices": 8, "claims": 5000, "rounds": 15}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--most", type=int, default=10_000, help="placements of the longest round")
    given = vars(parser.parse_args())
    most = given.pop("most")
    taken = measure(**given)
    base = statistics.median(taken["walk over every device"])
    print(f"{'CPU time':28} {'best ms':>10} {'median ms':>10} {'worst ms':>10} {'x walk':>8}")
    for name, times in taken.items():
        median = statistics.median(times)
        shown = "".join([f"{each * 1000:11.2f}" for each in (min(times), median, max(times))])
        print(f"{name:28}{shown} {median / base:8.1f}")
    print()
    growth(given["workers"], given["devices"], given["claims"], most)


if __name__ == "__main__":
    main()
