"""Keeps what a round found of each worker: thousands of replicas ask the same, and one worker changes at a time."""

from collections.abc import Hashable, Sequence

from gpustack_lite.domain import Reason
from scheduler.checks import Ask, view, why_not
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
        for node in nodes:
            entry = known.get(node.name)
            if entry is None or entry[0] is not node:
                entry = known[node.name] = (node, _look(node, ask))
            if isinstance(entry[1], list):
                able += entry[1]
            else:
                reasons.append(entry[1])
        return able, reasons


def _look(node: Node, ask: Ask) -> Found:
    seen = view(node, ask)
    reason = why_not(seen)
    return candidates(seen) if reason is None else reason


def _key(ask: Ask) -> Hashable:
    wish = ask.wish
    labels = tuple(sorted(wish.worker_labels.items()))
    wished = (wish.strategy, labels, wish.devices, wish.workers, wish.chips, wish.apart, wish.share_chips)
    return ask.claim, wished, ask.backend, id(ask.about), ask.counts
