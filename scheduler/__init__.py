"""Pure placement: a snapshot of workers goes in, a placement or the reasons against it come out."""

from scheduler.explain import Explanation, explain
from scheduler.node import Node, occupied
from scheduler.place import least_demanding, place
from scheduler.question import Holding, Question, answer
from scheduler.remedies import Trial, offered
from scheduler.reserve import reserve

__all__ = [
    "Explanation",
    "Holding",
    "Node",
    "Question",
    "Trial",
    "answer",
    "explain",
    "least_demanding",
    "occupied",
    "offered",
    "place",
    "reserve",
]
