"""What a key, a user and a model may use: requests and tokens per minute, at once, and by day and month."""

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from operator import itemgetter
from typing import Literal, NamedTuple, Protocol

from gpustack_lite.calendars import Period
from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Param
from gpustack_lite.gateway import spending
from gpustack_lite.gateway.answers import Field, Later
from gpustack_lite.gateway.meters import NOTHING, Meter, Rates
from gpustack_lite.gateway.sharing import ALONE, SOON_SECONDS, Count, Others
from gpustack_lite.gateway.spending import Spending, Spent
from gpustack_lite.wire import Credential, GatewayOrders, Limits, ModelRoute, RoutesReply

BYTES_PER_TOKEN = 4
ASSUMED_ANSWER_TOKENS = 256
"""Reserved for an answer of which the request names no bound."""
STALE_SECONDS = 5.0
"""Without a word from the server for longer, each gateway keeps to its even share."""
INHERITED_SECONDS = 10.0
Owner = Literal["key", "user", "model"]
Measure = Literal["requests", "tokens", "concurrency", "promised", "day", "month"]


class Subject(NamedTuple):
    """Whose limits they are: `whom` for programs ("key:7"), `name` for people."""

    owner: Owner
    whom: str
    name: str
    limits: Limits


class Spender(Protocol):
    def spent(self) -> Spent:
        """What a request used, in the end."""


class LimitReached(Later):
    """429. The code is one of OpenAI's two; the sentence says which limit, of whom, and when to come back."""

    def __init__(self, subject: Subject, measure: Measure, limit: int, seconds: float, **more: Param) -> None:
        code = "insufficient_quota" if measure in {"day", "month"} else "rate_limit_exceeded"
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(
            code,
            status=429,
            retry_seconds=self.seconds,
            param=None,
            owner=subject.owner,
            name=subject.name,
            measure=measure,
            limit=limit,
            seconds=self.seconds,
            **more,
        )

    @property
    def sentence(self) -> Sentence:
        return Sentence(f"limit_{self.params['owner']}_{self.params['measure']}", self.params)


class Hold:
    """One admitted request. `lines` are the x-ratelimit headers of its answer."""

    __slots__ = ("_meters", "_now", "_reserved", "lines")

    def __init__(
        self,
        lines: bytes = b"",
        meters: tuple[Meter, ...] = (),
        reserved: int = 0,
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.lines = lines
        self._meters = meters
        self._reserved = reserved
        self._now = now

    @property
    def fields(self) -> list[Field]:
        return _fields(self.lines)

    def leave(self, tokens: int | None) -> None:
        """The request has ended, however it did; `tokens` is what it used in all, None where nobody knows."""
        if self._meters:
            now, meters, self._meters = self._now(), self._meters, ()
            for meter in meters:
                meter.leave(now, self._reserved, tokens or 0)


UNLIMITED = Hold()


class Party(NamedTuple):
    """Whose limits one credential at one model is under, and what counts against each."""

    credential: Credential
    route: ModelRoute
    members: tuple[tuple[Subject, Meter], ...]
    meters: tuple[Meter, ...]


class Limiter:
    """Nothing is charged unless every limit lets the request pass.

    The minute is a sliding one: of any 60 seconds, none holds more requests than the limit. Tokens are reserved at
    entry (prompt bytes / 4 and the bound on the answer) and charged at the end, so a minute may exceed its limit by
    what the requests in it took beyond their reservation. A request larger than the whole limit passes when nothing
    else is counted. Several gateways: see `sharing.Count`.
    """

    def __init__(self, now: Callable[[], float], wall: Callable[[], datetime]) -> None:
        self.now = now
        self._wall = wall
        self._meters: dict[str, Meter] = {}
        self._parties: dict[tuple[str, str], Party] = {}
        self._budgeted: frozenset[str] = frozenset()
        self.orders: GatewayOrders = GatewayOrders()
        self._heard_at: float | None = None
        self._first_heard_at: float | None = None
        self.spending = Spending()

    # --- a request ---------------------------------------------------------------------------------------------------

    def enter(
        self, credential: Credential, route: ModelRoute, prompt_bytes: int = 0, most_tokens: int | None = None
    ) -> Hold:
        """
        Raises:
            LimitReached: 429 `rate_limit_exceeded` or `insufficient_quota`.
        """
        if credential.limits is None and credential.user_limits is None and route.serving.limits is None:
            return UNLIMITED
        answer = ASSUMED_ANSWER_TOKENS if most_tokens is None else most_tokens
        return self._enter(self._party(credential, route), prompt_bytes // BYTES_PER_TOKEN + answer)

    def _enter(self, party: Party, tokens: int) -> Hold:
        now, others = self.now(), self._others()
        for subject, meter in party.members:
            if not meter.passes(now, tokens, others) or (meter.has_budget and any(self._no_budget(subject, meter))):
                raise self._refusal(party, now, tokens, others)
        for meter in party.meters:
            meter.enter(now, tokens)
        return Hold(_lines(party.meters, now, others), party.meters, tokens, self.now)

    def _party(self, credential: Credential, route: ModelRoute) -> Party:
        """Made anew each second, and when the credential or the model was changed."""
        known = self._parties.get((credential.digest, route.name))
        if known is not None and known.credential is credential and known.route is route:
            return known
        members = tuple((subject, self._meter(subject)) for subject in _subjects(credential, route))
        party = Party(credential, route, members, tuple(meter for _, meter in members))
        self._parties[credential.digest, route.name] = party
        return party

    def _meter(self, subject: Subject) -> Meter:
        meter = self._meters.get(subject.whom)
        if meter is None:
            meter = self._meters[subject.whom] = Meter(subject.limits, self._elsewhere(subject.whom))
        elif meter.limits is not subject.limits:
            meter.obey(subject.limits)
        if meter.has_budget and subject.whom not in self._budgeted:
            self._budgeted |= {subject.whom}
        return meter

    def _refusal(self, party: Party, now: float, tokens: int, others: Others) -> LimitReached:
        """Of all that stand in the way, the one that does so for longest."""
        refusals = [each for subject, meter in party.members for each in self._no_budget(subject, meter)]
        for subject, meter in party.members:
            for measure, count, limit in _counts(meter):
                amount = min(tokens, limit) if measure == "tokens" else 1
                if count.room(limit, now, others) < amount:
                    refusals.append(LimitReached(subject, measure, limit, count.wait(limit, amount, now, others)))
        longest = max(refusals, key=lambda each: each.seconds)
        longest.fields += tuple(_fields(_lines(party.meters, now, others)))
        return longest

    def _no_budget(self, subject: Subject, meter: Meter) -> Iterator[LimitReached]:
        """Others that have not been heard of are taken to spend as we do."""
        if not meter.has_budget:
            return
        wall, limits, others = self._wall(), meter.limits, self._others()
        calendar = meter.calendar(wall)
        alike = 1 if others.is_fresh else others.gateways
        periods: tuple[tuple[Measure, int | None, Period], ...] = (
            ("day", limits.tokens_per_day, calendar.day),
            ("month", limits.tokens_per_month, calendar.month),
        )
        for measure, limit, period in periods:
            if limit is None:
                continue
            ours = self.spending.ours(subject.whom, period.begins_at)
            left = limit - self.spending.said(subject.whom, period.name) - ours * alike
            if left <= 0:
                until = period.ends_at.astimezone(calendar.zone).isoformat(timespec="minutes")
                yield LimitReached(subject, measure, limit, (period.ends_at - wall).total_seconds(), until=until)
            elif meter.tokens.held >= left:
                yield LimitReached(subject, "promised", limit, SOON_SECONDS, left=left)

    # --- the other gateways, and the books ---------------------------------------------------------------------------

    def _others(self) -> Others:
        count = self.orders.gateways
        if count <= 1:
            return ALONE
        return Others(count, self._heard_at is not None and self.now() - self._heard_at <= STALE_SECONDS)

    def _elsewhere(self, name: str) -> Rates:
        found = self.orders.elsewhere.get(name)
        return NOTHING if found is None else Rates(*found)

    def tell(self) -> dict[str, dict[str, Rates]]:
        """For a GatewayStatus: the limited subjects that were used in the last minute."""
        now = self.now()
        self.spending.tell()
        told = {whom: rates for whom, meter in self._meters.items() if any(rates := meter.tell(now))}
        self._meters = {whom: self._meters[whom] for whom in told}
        self._parties.clear()
        return {"rates": told}

    def recall(self, orders: GatewayOrders) -> None:
        """What was heard before this process began; it is not fresh."""
        self.orders = orders
        self.spending.heed(orders.spent)

    def heed(self, orders: GatewayOrders) -> None:
        now = self.now()
        self.orders, self._heard_at = orders, now
        self._first_heard_at = now if self._first_heard_at is None else self._first_heard_at
        for whom, meter in self._meters.items():
            meter.heed(self._elsewhere(whom))
        self.spending.heed(orders.spent)
        if now - self._first_heard_at >= INHERITED_SECONDS:
            self.spending.disinherit()

    def note(self, ended: Spender) -> None:
        """A request has ended."""
        if self._budgeted:
            row = ended.spent()
            self.spending.note(row, self._budgeted.intersection(spending.subjects_of(row)))

    def were_taken(self, rows: Iterable[bytes]) -> None:
        """The server has these rows on its disk."""
        if self._budgeted:
            for row in spending.of_rows(rows):
                self.spending.was_taken(row, self._budgeted.intersection(spending.subjects_of(row)))


def has_budgets(known: RoutesReply) -> bool:
    """Whether anybody has a budget, so that what a predecessor left on disk matters."""
    each = [credential.limits for credential in known.credentials or ()]
    each += [credential.user_limits for credential in known.credentials or ()]
    each += [model.serving.limits for model in known.models or ()]
    return any(limits is not None and (limits.tokens_per_day or limits.tokens_per_month) for limits in each)


def _subjects(credential: Credential, route: ModelRoute) -> list[Subject]:
    found: list[Subject] = []
    if credential.limits is not None:
        found.append(Subject("key", f"key:{credential.id}", credential.name or str(credential.id), credential.limits))
    if credential.user_limits is not None:
        found.append(Subject("user", f"user:{credential.user_id}", credential.user, credential.user_limits))
    if route.serving.limits is not None:
        found.append(Subject("model", f"model:{route.name}", route.name, route.serving.limits))
    return found


def _counts(meter: Meter) -> Iterator[tuple[Measure, Count, int]]:
    limits = meter.limits
    if limits.requests_per_minute is not None:
        yield "requests", meter.requests, limits.requests_per_minute
    if limits.tokens_per_minute is not None:
        yield "tokens", meter.tokens, limits.tokens_per_minute
    if limits.concurrency is not None:
        yield "concurrency", meter.in_flight, limits.concurrency


def _lines(meters: tuple[Meter, ...], now: float, others: Others) -> bytes:
    """Of the limit that leaves least."""
    if len(meters) == 1:
        return meters[0].lines(now, others)

    def left(count: Count, limit: int) -> tuple[int, int]:
        return count.remaining(limit, now, others), limit

    requests = [(left(each.requests, most), each) for each in meters if (most := each.limits.requests_per_minute)]
    tokens = [(left(each.tokens, most), each) for each in meters if (most := each.limits.tokens_per_minute)]
    lines = min(requests, key=_first)[1].lines(now, others, tokens=False) if requests else b""
    return lines + (min(tokens, key=_first)[1].lines(now, others, requests=False) if tokens else b"")


_first = itemgetter(0)


def _fields(lines: bytes) -> list[Field]:
    return [(name, value) for name, _, value in (line.partition(b": ") for line in lines.splitlines())]
