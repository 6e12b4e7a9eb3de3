"""What would run where, of many models on workers that are only described; and what would be left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from gpustack_lite.domain import Placement, PlacementWish, Sentence
from gpustack_lite.planning.evaluation import Evaluation, Surroundings, document, evaluate, placement_document
from gpustack_lite.planning.subject import Subject
from scheduler import Holding, Node, reserve

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What clients will ask, and what one replica was measured to do; None is not known."""

    requests_per_second: float
    prompt_tokens: float = 0
    output_tokens: float = 0
    ttft_seconds: float | None = None
    measured_prompt_rate: float | None = None
    measured_output_rate: float | None = None
    """Tokens per second of one replica, over all its requests."""

    @property
    def replicas(self) -> int | None:
        """As many as prompts and answers keep busy; None where a rate that counts was not measured."""
        prompt = _busy(self.requests_per_second * self.prompt_tokens, self.measured_prompt_rate)
        output = _busy(self.requests_per_second * self.output_tokens, self.measured_output_rate)
        return None if prompt is None or output is None else max(1, ceil(max(prompt, output)))

    @property
    def first_token_seconds(self) -> float | None:
        """On an idle replica: under load it takes longer, and by how much was not measured."""
        rate = self.measured_prompt_rate
        return None if rate is None else self.prompt_tokens / rate


def _busy(tokens_per_second: float, rate: float | None) -> float | None:
    if tokens_per_second == 0:
        return 0.0
    return None if rate is None else tokens_per_second / rate


@dataclass(frozen=True, slots=True)
class Wanted:
    """One model of a workload. `replicas` None: as many as its traffic needs, or one where that is not known."""

    name: str
    subject: Subject
    replicas: int | None = None
    wish: PlacementWish = field(default_factory=PlacementWish)
    traffic: Traffic | None = None

    @property
    def count(self) -> int:
        needed = self.traffic.replicas if self.traffic else None
        return self.replicas if self.replicas is not None else needed or 1


@dataclass(frozen=True, slots=True)
class Planned:
    """`placements` are of the replicas that fit; `refused` is what was said of the first that did not."""

    wanted: Wanted
    placements: tuple[Placement, ...]
    first: Evaluation | None
    refused: Evaluation | None

    @property
    def waiting_count(self) -> int:
        return self.wanted.count - len(self.placements)


def plan(nodes: Sequence[Node], workload: Sequence[Wanted]) -> Document:
    """In the order of the scheduler: higher priorities first, else as written."""
    around = Surroundings(tuple(nodes), (), tuple(nodes))
    planned: list[Planned] = []
    for wanted in sorted(workload, key=lambda each: -each.wish.priority):
        done, around = _placed(wanted, around)
        planned.append(done)
    return {
        "fits": all(each.waiting_count == 0 for each in planned),
        "replica_count": sum(each.wanted.count for each in planned),
        "waiting_count": sum(each.waiting_count for each in planned),
        "models": [_model(each) for each in planned],
        "left": [_left(node) for node in around.known],
    }


def _placed(wanted: Wanted, around: Surroundings) -> tuple[Planned, Surroundings]:
    """A replica that does not fit speaks for all that follow."""
    placements: list[Placement] = []
    first: Evaluation | None = None
    for number in range(wanted.count):
        found = evaluate(wanted.subject, around, wanted.wish, name=wanted.name)
        if not isinstance(found.answer, Placement):
            return Planned(wanted, tuple(placements), first, found), around
        first = first or found
        placements.append(found.answer)
        around = _with(around, found, found.answer, f"{wanted.name}#{number + 1}", wanted.name)
    return Planned(wanted, tuple(placements), first, None), around


def _with(around: Surroundings, found: Evaluation, placement: Placement, called: str, model: str) -> Surroundings:
    number = len(around.holdings) + 1
    held = [Holding(number, called, part.worker, part.devices, placement.claim, model) for part in placement.parts]
    known = reserve(around.known, placement, found.question.about)
    return replace(around, holdings=(*around.holdings, *held), known=known)


def _model(planned: Planned) -> Document:
    wanted, said = planned.wanted, planned.refused
    evaluation = document(planned.first) if planned.first else (document(said) if said else None)
    told = document(said) if said else None
    return {
        "name": wanted.name,
        "source": wanted.subject.source,
        "backend": wanted.subject.name,
        "replicas": wanted.count,
        "waiting_count": planned.waiting_count,
        "placements": [placement_document(each) for each in planned.placements],
        "context_length": None if evaluation is None else evaluation["context_length"],
        "memory": None if evaluation is None else evaluation["memory"],
        "warnings": [] if evaluation is None else evaluation["warnings"],
        "reasons": [] if told is None else told["reasons"],
        "remedies": [] if told is None else told["remedies"],
        "traffic": None if wanted.traffic is None else _traffic(wanted.traffic, wanted.count),
    }


def _traffic(traffic: Traffic, count: int) -> Document:
    needed, first = traffic.replicas, traffic.first_token_seconds
    goal = traffic.ttft_seconds
    return {
        "replicas_needed": needed,
        "is_enough": None if needed is None else count >= needed,
        "first_token_seconds": None if first is None else round(first, 3),
        "is_first_token_in_time": None if first is None or goal is None else first <= goal,
        "notes": [{"code": each.code, "params": dict(each.params)} for each in _said(traffic)],
    }


def _said(traffic: Traffic) -> Iterator[Sentence]:
    needed, first, goal = traffic.replicas, traffic.first_token_seconds, traffic.ttft_seconds
    yield Sentence("traffic_unknown") if needed is None else Sentence("traffic_needs", {"replica_count": needed})
    if first is not None and goal is not None:
        yield Sentence("traffic_first_token", {"seconds": round(first, 3), "goal_seconds": goal})


def _left(node: Node) -> Document:
    """Bytes that a further claim could use; 0 where the device is held whole."""
    spaces = sorted((space for pool in node.pools for space in pool.spaces), key=lambda space: space.device)
    devices = [
        {
            "device": f"{node.name}:{space.device}",
            "chip": space.chip,
            "claimed_bytes": node.claimed.get(space.device, 0),
            "free_bytes": 0 if space.is_taken else max(0, space.free_bytes or 0),
        }
        for space in spaces
    ]
    return {"worker": node.name, "free_ram_bytes": node.free_ram_bytes, "devices": devices}
