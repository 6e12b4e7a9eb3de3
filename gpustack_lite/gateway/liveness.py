"""Whether an engine that accepts requests answers any: what to ask an idle one, how long a busy one may be silent."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from gpustack_lite.gateway.balance import Flight, Replica
from gpustack_lite.wire import Endpoint, ModelRoute, Said, Stuck

FIRST_FACTOR = 10.0
"""The first answer of an attempt may take so many deadlines of a probe: some engines compile at their first request."""
FLOOR_FACTOR = 2.0
"""A busy engine may be silent for so many deadlines of a probe, however quick it was."""
SILENCE_FACTOR = 10.0
"""A stream may be silent for so many times what was predicted until its first token."""
WHOLE_FACTOR = 2.0
"""What is no stream says nothing until it is done: so many times what the longest answer would take."""
_HI = "hi"
_BODIES: tuple[tuple[str, dict[str, object]], ...] = (
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": _HI}], "max_tokens": 1}),
    ("/v1/completions", {"prompt": _HI, "max_tokens": 1}),
    ("/v1/embeddings", {"input": _HI}),
    ("/v1/rerank", {"query": _HI, "documents": [_HI]}),
    ("/v2/rerank", {"query": _HI, "documents": [_HI]}),
)
"""The first one that an engine serves is asked; of what serves none of them, nobody knows a cheap question."""


class Question(NamedTuple):
    path: str
    body: bytes


def question_for(route: ModelRoute, endpoint: Endpoint) -> Question | None:
    for path, fields in _BODIES:
        if path in route.paths:
            return Question(path, msgspec.json.encode({"model": endpoint.served_name, **fields}))
    return None


def deadline_seconds(replica: Replica, usual_seconds: float) -> float:
    """For one token; `usual_seconds` is that of an engine that has answered before."""
    return usual_seconds if replica.answered_at else FIRST_FACTOR * usual_seconds


def silent_seconds(replica: Replica, now: float) -> float:
    """Since when no request in flight there has progressed, and none has ended with an answer."""
    flights = replica.flights
    heard = [flight.answer.heard_at for flight in flights if flight.answer is not None]
    began = min((flight.began for flight in flights), default=now)
    return now - max(began, replica.answered_at, *heard)


def patience_seconds(replica: Replica, usual_seconds: float) -> float | None:
    """How long all that is in flight there may be silent; None where nobody can say."""
    floor = (FLOOR_FACTOR if replica.answered_at else FIRST_FACTOR) * usual_seconds
    allowed = [_allowed(replica, flight) for flight in replica.flights]
    known = [each for each in allowed if each is not None]
    return max(floor, *known) if known and len(known) == len(allowed) else None


def _allowed(replica: Replica, flight: Flight) -> float | None:
    if flight.is_stream:
        return SILENCE_FACTOR * flight.first_seconds
    most = flight.most_tokens if flight.most_tokens is not None else flight.endpoint.context_length
    if most is None:
        return None
    return WHOLE_FACTOR * (flight.first_seconds + most * replica.token_seconds * len(replica.flights))


def silent_too_long(instance_id: int, replica: Replica, now: float, usual_seconds: float) -> Stuck | None:
    """The verdict on a busy replica."""
    silent = silent_seconds(replica, now)
    if silent <= usual_seconds:
        return None
    allowed = patience_seconds(replica, usual_seconds)
    if allowed is None or silent <= allowed:
        return None
    params = {"seconds": round(silent), "allowed": round(allowed), "requests": len(replica.flights)}
    attempt = max(flight.endpoint.attempt for flight in replica.flights)
    return Stuck(instance_id=instance_id, attempt=attempt, said=Said(code="engine_silent", params=params))


def unanswered(endpoint: Endpoint, question: Question, seconds: float) -> Stuck:
    """The verdict on an idle replica."""
    said = Said(code="engine_unanswering", params={"path": question.path, "seconds": round(seconds)})
    return Stuck(instance_id=endpoint.instance_id, attempt=endpoint.attempt, said=said)


def still_holding(
    verdicts: Iterable[tuple[Stuck, float]], endpoints: Collection[Endpoint], heard: dict[int, float]
) -> list[int]:
    """Instances whose verdict still stands: the same attempt is still in the routes and has said nothing since."""
    present = {(each.instance_id, each.attempt) for each in endpoints}
    return [
        verdict.instance_id
        for verdict, at in verdicts
        if (verdict.instance_id, verdict.attempt) in present and heard.get(verdict.instance_id, 0.0) <= at
    ]
