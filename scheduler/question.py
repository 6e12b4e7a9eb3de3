"""A question in whole: the workers, what is held on them and by whom, and what is to be placed."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gpustack_lite.domain import Claim, Placement, PlacementWish, Unplaceable
from scheduler.checks import NOBODY, About
from scheduler.node import Held, Node, occupied
from scheduler.place import place


@dataclass(frozen=True, slots=True)
class Holding:
    """One instance's claim on one worker; `name` is what a person calls it."""

    id: int
    name: str
    worker: str
    devices: tuple[int, ...]
    claim: Claim
    model: str | None = None


@dataclass(frozen=True)
class Question:
    """`bare` are the workers as if nothing of ours were there, so that what an end would free can be asked.

    `bare` should say what others use (`Node.foreign`): a reading alone cannot tell others from our engines.
    """

    bare: tuple[Node, ...]
    claims: tuple[Claim, ...]
    wish: PlacementWish = field(default_factory=PlacementWish)
    backend: str | None = None
    holdings: tuple[Holding, ...] = ()
    about: About = NOBODY
    known: tuple[Node, ...] = field(default=(), compare=False, repr=False)
    """`bare` with `holdings` on them, from a caller who has them already."""

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._held.values())

    def node(self, worker: str | None) -> Node | None:
        return self._held.get(worker or "")

    def held_on(self, worker: str) -> Sequence[Holding]:
        return self._by_worker.get(worker, ())

    def without(self, worker: str, ended: Collection[int]) -> Node:
        """That worker, if the instances of these ids were gone."""
        return _held(self._bare[worker], [each for each in self.held_on(worker) if each.id not in ended])

    @cached_property
    def _by_worker(self) -> dict[str, list[Holding]]:
        found: dict[str, list[Holding]] = {}
        for each in self.holdings:
            found.setdefault(each.worker, []).append(each)
        return found

    @cached_property
    def _bare(self) -> dict[str, Node]:
        return {node.name: node for node in self.bare}

    @cached_property
    def _held(self) -> dict[str, Node]:
        found = self.known or [_held(node, self.held_on(node.name)) for node in self.bare]
        return {node.name: node for node in found}


def answer(question: Question) -> Placement | Unplaceable:
    return place(question.nodes, question.claims, question.wish, backend=question.backend, about=question.about)


def _held(node: Node, holdings: Iterable[Holding]) -> Node:
    by_model: dict[str | None, list[Held]] = {}
    for each in holdings:
        by_model.setdefault(each.model, []).append((each.devices, each.claim))
    for model, found in by_model.items():
        node = occupied(node, found, model=model)
    return node
