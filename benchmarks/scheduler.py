"""How long one placement takes on 1,000 workers x 8 devices with 5,000 live claims, beside a bare walk over them."""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

from gpustack_lite.chips import GIB, Declared, declared_devices
from gpustack_lite.domain import Claim, Placement, PlacementWish
from scheduler import Node, occupied, place, reserve

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {"workers": 1000, "devices": 8, "claims": 5000, "rounds": 15}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    taken = measure(**vars(parser.parse_args()))
    base = statistics.median(taken["walk over every device"])
    print(f"{'CPU time':28} {'median ms':>10} {'worst ms':>10} {'x walk':>8}")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:28} {median * 1000:10.2f} {max(times) * 1000:10.2f} {median / base:8.1f}")


if __name__ == "__main__":
    main()
