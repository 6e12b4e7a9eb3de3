"""Pure placement: a snapshot of workers goes in, a placement or the reasons against it come out."""

from scheduler.explain import Explanation, explain
from scheduler.node import Node, occupied
from scheduler.place import place
from scheduler.reserve import reserve

__all__ = ["Explanation", "Node", "explain", "occupied", "place", "reserve"]
