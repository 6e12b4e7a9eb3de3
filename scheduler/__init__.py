"""Pure placement: a snapshot of workers goes in, a placement or the reasons against it come out."""

from scheduler.checks import About, granted
from scheduler.explain import Explanation, explain
from scheduler.memo import Memo
from scheduler.moving import Movable, Move, Moves, moves_for
from scheduler.node import Node, occupied
from scheduler.place import least_demanding, place
from scheduler.question import Holding, Question, answer
from scheduler.remedies import offered
from scheduler.reserve import release, reserve

__all__ = [
    "About",
    "Explanation",
    "Holding",
    "Memo",
    "Movable",
    "Move",
    "Moves",
    "Node",
    "Question",
    "answer",
    "explain",
    "granted",
    "least_demanding",
    "moves_for",
    "occupied",
    "offered",
    "place",
    "release",
    "reserve",
]
