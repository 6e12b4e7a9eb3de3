"""Takes a placement out of a snapshot, so that the next one of the same round sees what is left; and gives it back."""

from collections.abc import Sequence

from gpustack_lite.domain import Placement
from scheduler.checks import NOBODY, About
from scheduler.node import Node, occupied, vacated


def reserve(nodes: Sequence[Node], placement: Placement, about: About = NOBODY) -> tuple[Node, ...]:
    """The snapshot with the placement's claim held; nodes that it does not touch are the same objects."""
    parts, claim = {part.worker: part.devices for part in placement.parts}, placement.claim
    return tuple(
        [
            occupied(node, [(parts[node.name], claim)], model=about.model, source=about.source)
            if node.name in parts
            else node
            for node in nodes
        ]
    )


def release(nodes: Sequence[Node], placement: Placement, about: About = NOBODY) -> tuple[Node, ...]:
    """The snapshot as if the placement, which is on it, had ended."""
    parts, claim = {part.worker: part.devices for part in placement.parts}, placement.claim
    return tuple(
        [vacated(node, parts[node.name], claim, model=about.model) if node.name in parts else node for node in nodes]
    )
