"""Keeps what a round found of each worker: thousands of replicas ask the same, and one worker changes at a time."""

from collections.abc import Hashable, Sequence

from gpustack_lite.domain import Reason
from scheduler.checks import Ask, able_pools, view, why_not
from scheduler.glance import glance, is_plain
from scheduler.node import Node
from scheduler.rank import Candidate, candidates

Found = list[Candidate] | Reason


class Memo:
    """Belongs to one caller and one round. Nodes are compared by identity: `reserve` makes new ones where it takes.

    Of a question it holds on to `about`, whose identity stands for its contents.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[Ask, dict[str, tuple[Node, Found]]]] = {}

    def sort_out(self, nodes: Sequence[Node], ask: Ask) -> tuple[list[Candidate], list[Reason]]:
        """The candidates of the workers that can, and the reasons of those that cannot."""
        _, known = self._found.setdefault(_key(ask), (ask, {}))
        able: list[Candidate] = []
        reasons: list[Reason] = []
        plain = is_plain(ask)
        for node in nodes:
            name = node.name
            entry = known.get(name)
            if entry is None or entry[0] is not node:
                seen = glance(node, ask) if plain else None
                entry = known[name] = (node, the_long_way(node, ask) if seen is None else [seen])
            if isinstance(entry[1], list):
                able += entry[1]
            else:
                reasons.append(entry[1])
        return able, reasons


def the_long_way(node: Node, ask: Ask) -> Found:
    seen = view(node, ask)
    able = able_pools(seen)
    reason = why_not(seen, able)
    return candidates(seen, able) if reason is None else reason


def _key(ask: Ask) -> Hashable:
    wish = ask.wish
    labels = tuple(sorted(wish.worker_labels.items()))
    wished = (wish.strategy, labels, wish.devices, wish.workers, wish.chips, wish.apart, wish.share_chips)
    return ask.claim, wished, ask.backend, id(ask.about), ask.counts
