"""Takes a placement out of a snapshot, so that the next one of the same round sees what is left."""

from collections.abc import Sequence

from gpustack_lite.domain import Placement
from scheduler.node import Node, occupied


def reserve(nodes: Sequence[Node], placement: Placement) -> tuple[Node, ...]:
    """The snapshot with the placement's claim held; nodes that it does not touch are the same objects."""
    parts = {part.worker: part.devices for part in placement.parts}
    return tuple(
        occupied(node, [(parts[node.name], placement.claim)]) if node.name in parts else node for node in nodes
    )
