"""Which replica will be done first with this prompt: speeds are learned from what passes, nothing is asked."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from gpustack_lite.gateway import prefix
from gpustack_lite.gateway.prefix import Chain, Prefixes
from gpustack_lite.wire import Endpoint, ModelRoute

LEARNING = 0.25
"""How much the newest observation counts: a speed that changes for good is known to 90 % after eight requests."""
LEARN_EVERY_SECONDS = 0.02
ENOUGH_OBSERVATIONS = 50
"""After so many a replica is learned from at most so often: thousands of requests a second teach no more than fifty."""
MOST_RATIO = 4.0
"""One observation never says more than this factor: a pause of the machine is not a new speed."""
SHARE = 0.5
MOST_SHARE = 1.5
"""By how much of the work before it a request is held up: 1 where an engine does one thing after the other, near 0
where it does everything at once; so much is assumed, and so much believed at most."""
ALONE = 0.25
"""A request counts as alone when the work before it is at most this part of its own: then it tells speeds."""
AFFINITY_FACTOR = 1.25
"""A replica that has the beginning cached is taken unless it would be done later than the best by more than this."""
ABOUT_EQUAL = 1.25
ABOUT_EQUAL_SECONDS = 0.05
MOST_DOUBT = 1.1
"""Predictions that differ by less than a quarter, or by less than what they are usually off by (at most threefold), are
no reason to let a request wait behind another's work: where a machine's speed wavers, the less busy replica is best.
Nor is a difference that nobody feels."""
DOUBTING = 0.1
OPTIMISM = 0.7
"""What was not seen for long may have become faster, down to this part of the time that was learned."""
FORGETTING_CHOICES = 100
EXPLORE_CHOICES = 32
UNKNOWN_AGAIN_CHOICES = 8
FIRST_TOKEN_SECONDS = 0.02
PROMPT_TOKEN_SECONDS = 0.001
TOKEN_SECONDS = 0.02
TOKENS_PER_BYTE = 0.25
ANSWER_TOKENS = 128.0
MOST_TOKENS_PER_BYTE = 0.5
"""Assumed of a model of which no prompt was counted yet, where too small would mean an engine that refuses."""
CAUTION = 1.5
WARM_TOKENS = 32


class Asks(Protocol):
    """The parts of turns.Ask that matter here."""

    @property
    def prompt_bytes(self) -> int: ...
    @property
    def most_tokens(self) -> int | None: ...
    @property
    def is_stream(self) -> bool: ...
    @property
    def body(self) -> bytes | bytearray: ...


class Observation(NamedTuple):
    """How one request went, counted from when it was given its replica. What nobody said is None.

    `is_answered` is an answer worth learning from; `is_alive`, that the engine said anything at all.
    """

    seconds: float
    first_seconds: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    is_answered: bool = True
    is_alive: bool = True


@dataclass(slots=True)
class Replica:
    """What was learned of one engine, and what it has to do. Seconds are those of a request that is there alone."""

    overhead_seconds: float = FIRST_TOKEN_SECONDS
    prompt_token_seconds: float = PROMPT_TOKEN_SECONDS
    token_seconds: float = TOKEN_SECONDS
    service_seconds: float = 0.0
    """Of a whole request, as they came: what a full engine's queue is made of."""
    observations: int = 0
    seen_at: int = 0
    chosen_at: int = 0
    """The numbers of the choices at which it was last heard of, and last chosen."""
    share: float = SHARE
    doubt: float = 0.0
    """How far predictions are off, as the mean of |ln(came / predicted)|."""
    work_seconds: float = 0.0
    """What all that is in flight there would take, each alone."""
    attempt: int = 0
    answered_at: float = 0.0
    """When this attempt's engine last answered anything; 0.0 before it did."""
    learned_at: float = 0.0
    flights: "set[Flight]" = field(default_factory=set)

    def alone_seconds(self, new_tokens: float, answer_tokens: float) -> float:
        return self.overhead_seconds + new_tokens * self.prompt_token_seconds + answer_tokens * self.token_seconds


@dataclass(slots=True)
class Habits:
    """What was learned of one model's requests."""

    tokens_per_byte: float | None = None
    answer_tokens: float | None = None

    def prompt_tokens(self, size: float) -> float:
        return size * (self.tokens_per_byte or TOKENS_PER_BYTE)

    def expected_tokens(self, most: int | None) -> float:
        usual = ANSWER_TOKENS if self.answer_tokens is None else self.answer_tokens
        return usual if most is None or usual < most else most

    def room_needed(self, ask: Asks) -> float:
        """Tokens of context, rather too many: a replica that is too short would refuse."""
        per_byte = MOST_TOKENS_PER_BYTE if self.tokens_per_byte is None else min(1.0, CAUTION * self.tokens_per_byte)
        return ask.prompt_bytes * per_byte + (ask.most_tokens or 0)


class Flight:
    """One request at its replica. Seconds are as predicted when it began.

    `first_seconds` is until the first token, if everything before it were done first; `answer` is set when the head of
    the answer has come.
    """

    __slots__ = (
        "alone_seconds",
        "answer",
        "answer_tokens",
        "ask_bytes",
        "began",
        "cached_tokens",
        "endpoint",
        "first_seconds",
        "instance_id",
        "is_stream",
        "marks",
        "model",
        "most_tokens",
        "new_tokens",
        "work_ahead",
    )

    answer: "Answer | None"

    def __init__(self, model: str, endpoint: Endpoint, ask: Asks, began: float, marks: Chain) -> None:
        self.model = model
        self.endpoint = endpoint
        self.instance_id = endpoint.instance_id
        self.ask_bytes = ask.prompt_bytes
        self.most_tokens = ask.most_tokens
        self.is_stream = ask.is_stream
        self.began = began
        self.marks = marks
        self.answer = None

    def predict(self, replica: "Replica", habits: "Habits", cached_tokens: float, elsewhere: int) -> None:
        """`elsewhere` others are in flight there by way of other gateways."""
        new = self.ask_bytes * (habits.tokens_per_byte or TOKENS_PER_BYTE) - cached_tokens
        self.cached_tokens = cached_tokens
        self.new_tokens = new = new if new > 1.0 else 1.0
        self.answer_tokens = answer = habits.expected_tokens(self.most_tokens)
        first = replica.overhead_seconds + new * replica.prompt_token_seconds
        self.alone_seconds = alone = first + answer * replica.token_seconds
        self.work_ahead = work = replica.work_seconds + elsewhere * alone
        self.first_seconds = work + first


class Answer(Protocol):
    """The connection to an engine, as far as the watchdog of progress looks at it."""

    @property
    def heard_at(self) -> float:
        """When the last byte came; now, where it is our own reader that is slow."""


_NO_MARKS: tuple[bytes | bytearray | None, Chain] = (None, ())


class Balancer:
    """`choose`, then `began`, then `ended`, all of them at once and without waiting. `now` is a monotonic clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.replicas: dict[int, Replica] = {}
        self.habits: dict[str, Habits] = {}
        self.elsewhere: Mapping[int, int] = {}
        """Requests in flight by instance that came through other gateways."""
        self.avoided: Collection[int] = ()
        """Thought to be stuck: taken only where there is no other."""
        self._prefixes = Prefixes()
        self._choices = 0
        self._marks = _NO_MARKS

    # --- choosing

    def choose(
        self, route: ModelRoute, endpoints: Sequence[Endpoint], ask: Asks, in_flight: Mapping[int, int]
    ) -> Endpoint:
        """One of `endpoints`, which are not empty."""
        if len(endpoints) == 1:
            return endpoints[0]
        self._choices += 1
        habits = self._habits(route.name)
        able = _able(endpoints, habits.room_needed(ask), self.avoided)
        if len(able) == 1:
            return able[0]
        known = [self.replica(each.instance_id) for each in able]
        busy = [in_flight.get(each.instance_id, 0) for each in able]
        at = self._unknown(known, busy)
        return able[self._first_done(route, able, ask, known, busy) if at is None else at]

    def _unknown(self, known: Sequence[Replica], busy: Sequence[int]) -> int | None:
        """An idle replica of which nothing is known yet; one that never answers is not tried every time."""
        for at, replica in enumerate(known):
            is_due = not replica.chosen_at or self._choices - replica.chosen_at >= UNKNOWN_AGAIN_CHOICES
            if not replica.observations and not busy[at] and is_due:
                return at
        return None

    def _first_done(
        self, route: ModelRoute, able: Sequence[Endpoint], ask: Asks, known: Sequence[Replica], busy: Sequence[int]
    ) -> int:
        habits, weights = self._habits(route.name), route.serving.weights
        prompt, answer = habits.prompt_tokens(ask.prompt_bytes), habits.expected_tokens(ask.most_tokens)
        marks = self._marks_of(route, ask)
        cached = self._prefixes.cached_bytes(marks) if marks else {}
        finishes = []
        for each, replica in zip(able, known, strict=True):
            id_ = each.instance_id
            new = max(1.0, prompt - habits.prompt_tokens(cached[id_])) if id_ in cached else prompt
            alone = replica.alone_seconds(new, answer)
            finish = alone + replica.share * (replica.work_seconds + self.elsewhere.get(id_, 0) * alone)
            finishes.append(finish / max(1e-6, weights.get(each.worker, 1.0)) if weights else finish)
        best = self._soonest(known, busy, finishes)
        if cached:
            warm = max(range(len(able)), key=lambda at: (cached.get(able[at].instance_id, 0), -finishes[at]))
            return warm if finishes[warm] <= AFFINITY_FACTOR * finishes[best] else best
        return self._due(known, busy, finishes, best)

    def _soonest(self, known: Sequence[Replica], busy: Sequence[int], finishes: Sequence[float]) -> int:
        """What was not seen for long is hoped to be faster; of about equal ones the least busy, then each in turn."""
        hoped = [
            finish * max(OPTIMISM, 1.0 - (self._choices - replica.seen_at) / FORGETTING_CHOICES)
            for finish, replica in zip(finishes, known, strict=True)
        ]
        doubt = min(MOST_DOUBT, 2.0 * max(replica.doubt for replica in known))
        about = max(max(ABOUT_EQUAL, math.exp(doubt)) * min(hoped), min(hoped) + ABOUT_EQUAL_SECONDS)
        near = [at for at, hope in enumerate(hoped) if hope <= about]
        return min(near, key=lambda at: (busy[at], hoped[at], known[at].chosen_at))

    def _due(self, known: Sequence[Replica], busy: Sequence[int], finishes: Sequence[float], best: int) -> int:
        """Now and then an idle one is seen again; the slower it was, the rarer, because somebody pays for it."""
        for at, replica in enumerate(known):
            since = self._choices - max(replica.seen_at, replica.chosen_at)
            is_idle = since >= EXPLORE_CHOICES and at != best and not busy[at]
            if is_idle and since >= EXPLORE_CHOICES * (finishes[at] / finishes[best]) ** 2:
                return at
        return best

    def _marks_of(self, route: ModelRoute, ask: Asks) -> Chain:
        if not route.serving.affinity or ask.prompt_bytes < prefix.LEAST_BYTES:
            return ()
        if self._marks[0] is not ask.body:
            self._marks = ask.body, prefix.chain(route.name, ask.body)
        return self._marks[1]

    # --- what is in flight

    def began(self, route: ModelRoute, endpoint: Endpoint, ask: Asks) -> Flight:
        """`endpoint` is given this request."""
        name, id_ = route.name, endpoint.instance_id
        habits, replica = self.habits.get(name) or self._habits(name), self.known(endpoint)
        marks = self._marks_of(route, ask) if len(route.endpoints) > 1 else ()
        cached = 0.0
        if marks:
            cached = habits.prompt_tokens(self._prefixes.cached_bytes(marks).get(id_, 0))
            self._prefixes.note(marks, id_)
        self._marks = _NO_MARKS
        flight = Flight(name, endpoint, ask, self.now(), marks)
        flight.predict(replica, habits, cached, self.elsewhere.get(id_, 0))
        replica.work_seconds += flight.alone_seconds
        replica.chosen_at = self._choices
        replica.flights.add(flight)
        return flight

    def left(self, flight: Flight, now: float, *, is_alive: bool) -> bool:
        """It is there no more. Whether anything is learned from how it went: then tell `learn`.

        `is_alive`: the engine said anything at all.
        """
        id_ = flight.instance_id
        replica = self.replicas.get(id_) or self.replica(id_)
        replica.flights.discard(flight)
        replica.work_seconds = max(0.0, replica.work_seconds - flight.alone_seconds) if replica.flights else 0.0
        if is_alive:
            replica.answered_at = now
        return now - replica.learned_at >= LEARN_EVERY_SECONDS or replica.observations < ENOUGH_OBSERVATIONS

    def ended(self, flight: Flight, seen: Observation) -> None:
        now = self.now()
        if self.left(flight, now, is_alive=seen.is_alive):
            self.learn(flight, seen, now)

    # --- learning

    def learn(self, flight: Flight, seen: Observation, now: float) -> None:
        """From what was answered at all."""
        if seen.is_answered:
            replica = self.replica(flight.instance_id)
            replica.learned_at = now
            self._learn(flight, replica, seen)

    def _learn(self, flight: Flight, replica: Replica, seen: Observation) -> None:
        self._learn_habits(self._habits(flight.model), flight, seen)
        weight = max(LEARNING, 1.0 / (replica.observations + 1))
        replica.observations += 1
        replica.seen_at = self._choices
        replica.service_seconds += weight * (seen.seconds - replica.service_seconds)
        if flight.marks and seen.cached_tokens is not None and seen.cached_tokens < flight.cached_tokens / 2:
            self._prefixes.forget(flight.marks, flight.instance_id)
        learn(replica, flight, seen, weight)

    def _learn_habits(self, habits: Habits, flight: Flight, seen: Observation) -> None:
        if seen.prompt_tokens and flight.ask_bytes:
            habits.tokens_per_byte = _towards(habits.tokens_per_byte, seen.prompt_tokens / flight.ask_bytes)
        if seen.prompt_tokens is not None:
            habits.answer_tokens = _towards(habits.answer_tokens, float(seen.completion_tokens or 0))

    # --- what is known

    def keep_only(self, instance_ids: Iterable[int]) -> None:
        """Forget replicas that are gone."""
        kept = set(instance_ids)
        for id_ in [each for each, replica in self.replicas.items() if each not in kept and not replica.flights]:
            del self.replicas[id_]
        self._prefixes.keep_only(kept)

    def replica(self, instance_id: int) -> Replica:
        replica = self.replicas.get(instance_id)
        if replica is None:
            replica = self.replicas[instance_id] = Replica(seen_at=self._choices)
        return replica

    def known(self, endpoint: Endpoint) -> Replica:
        """The same; what an earlier attempt answered says nothing of this one."""
        replica = self.replicas.get(endpoint.instance_id) or self.replica(endpoint.instance_id)
        if replica.attempt != endpoint.attempt:
            replica.attempt, replica.answered_at = endpoint.attempt, 0.0
        return replica

    def _habits(self, model: str) -> Habits:
        habits = self.habits.get(model)
        if habits is None:
            habits = self.habits[model] = Habits()
        return habits


def learn(replica: Replica, flight: Flight, seen: Observation, weight: float) -> None:
    """Correct what was assumed by how far it was off: who was alone tells speeds, the others how much they waited."""
    tokens = seen.completion_tokens or 0
    alone = replica.alone_seconds(_new_tokens(flight, seen), tokens)
    known_now = replica.alone_seconds(flight.new_tokens, flight.answer_tokens) / flight.alone_seconds
    work_ahead = flight.work_ahead * known_now
    if weight < 1.0:
        off = abs(math.log(max(1e-4, seen.seconds) / (alone + replica.share * work_ahead)))
        replica.doubt += DOUBTING * (min(off, MOST_DOUBT) - replica.doubt)
    if work_ahead <= ALONE * alone or weight >= 1.0:
        _learn_speeds(replica, flight, seen, weight)
        return
    waited = min(MOST_SHARE, max(0.0, (seen.seconds - alone) / work_ahead))
    replica.share += weight * (waited - replica.share)
    residual = _damped(seen.seconds / (alone + replica.share * work_ahead), weight / 4)
    _scale_first(replica, flight, seen, residual)
    replica.token_seconds *= residual


def _learn_speeds(replica: Replica, flight: Flight, seen: Observation, weight: float) -> None:
    tokens, new = seen.completion_tokens or 0, _new_tokens(flight, seen)
    if seen.first_seconds is None:
        factor = _damped(seen.seconds / replica.alone_seconds(new, tokens), weight)
        _scale_first(replica, flight, seen, factor)
        replica.token_seconds *= factor if tokens > 1 else 1.0
        return
    _scale_first(replica, flight, seen, _damped(seen.first_seconds / replica.alone_seconds(new, 0.0), weight))
    if tokens > 1 and seen.seconds > seen.first_seconds:
        actual = (seen.seconds - seen.first_seconds) / (tokens - 1)
        replica.token_seconds *= _damped(actual / replica.token_seconds, weight)


def _new_tokens(flight: Flight, seen: Observation) -> float:
    if seen.prompt_tokens is None:
        return flight.new_tokens
    cached = flight.cached_tokens if seen.cached_tokens is None else seen.cached_tokens
    return max(1.0, seen.prompt_tokens - cached)


def _scale_first(replica: Replica, flight: Flight, seen: Observation, factor: float) -> None:
    """Short prompts tell what an engine needs before it begins, long ones how fast it reads."""
    is_guessed = flight.cached_tokens > WARM_TOKENS and seen.cached_tokens is None
    if is_guessed:
        return
    if _new_tokens(flight, seen) * replica.prompt_token_seconds > replica.overhead_seconds:
        replica.prompt_token_seconds *= factor
    else:
        replica.overhead_seconds *= factor


def _damped(ratio: float, weight: float) -> float:
    """The first observation of a replica (weight 1) is believed as it is."""
    if weight >= 1.0:
        return float(max(1e-4, ratio))
    return float(min(MOST_RATIO, max(1.0 / MOST_RATIO, ratio)) ** weight)


def _towards(known: float | None, seen: float) -> float:
    return seen if known is None else known + LEARNING * (seen - known)


def _able(endpoints: Sequence[Endpoint], room: float, avoided: Collection[int]) -> Sequence[Endpoint]:
    """Those with room for prompt and answer; where none has it, the longest, whose engine then says so."""
    able = [each for each in endpoints if each.context_length is None or each.context_length >= room]
    if not able:
        longest = max(each.context_length or 0 for each in endpoints)
        able = [each for each in endpoints if each.context_length == longest]
    if avoided:
        able = [each for each in able if each.instance_id not in avoided] or able
    return able
