import math
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack_lite.gateway import answers
from gpustack_lite.gateway.limits import ASSUMED_ANSWER_TOKENS, UNLIMITED, Hold, Limiter, LimitReached, Subject
from gpustack_lite.gateway.rows import encode
from gpustack_lite.gateway.spending import Spent
from gpustack_lite.wire import Credential, GatewayOrders, Limits, ModelRoute, Serving
from tests.fakes.clock import ManualClock

ROUTE = ModelRoute(id=1, name="tiny", created=1, state="ready")


def key(limits: Limits | None = None, user_limits: Limits | None = None, id: int = 7) -> Credential:
    fields: dict[str, Any] = {"limits": limits, "user_limits": user_limits}
    return Credential(digest="d", kind="key", id=id, user_id=2, user="ada", role="user", **fields)


class Desk:
    """A limiter and its clock."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.limiter = Limiter(self.clock.monotonic, self.clock.wall)

    def enter(self, limits: Limits | None = None, *, tokens: int = 0, **given: Any) -> Hold:
        """`tokens` is what is reserved."""
        return self.limiter.enter(given.pop("credential", None) or key(limits), ROUTE, 0, tokens, **given)

    def use(self, limits: Limits, tokens: int) -> None:
        self.enter(limits, tokens=0).leave(tokens)

    def refusal(self, limits: Limits | None = None, **given: Any) -> LimitReached:
        with pytest.raises(LimitReached) as caught:
            self.enter(limits, **given)
        return caught.value


def shown(fields: tuple[tuple[bytes, bytes], ...]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in fields}


def test_where_nothing_is_limited_nothing_is_kept() -> None:
    desk = Desk()
    assert desk.enter() is UNLIMITED
    UNLIMITED.leave(5)
    assert desk.limiter.tell() == {"rates": {}}


def test_the_minute_slides_and_what_left_it_is_free_again() -> None:
    desk, limits = Desk(), Limits(requests_per_minute=2)
    desk.enter(limits)
    desk.clock.advance(30)
    desk.enter(limits)
    assert desk.refusal(limits).seconds == 31
    desk.clock.advance(31)
    desk.enter(limits)
    assert desk.refusal(limits).seconds == 30


def test_a_request_that_is_refused_is_charged_nowhere() -> None:
    desk = Desk()
    credential = key(Limits(requests_per_minute=5), Limits(concurrency=1))
    hold = desk.enter(credential=credential)
    for _ in range(3):
        desk.refusal(credential=credential)
    hold.leave(0)
    assert shown(desk.enter(credential=credential).fields)["x-ratelimit-remaining-requests"] == "3"


def test_tokens_are_reserved_at_entry_and_charged_at_the_end() -> None:
    desk, limits = Desk(), Limits(tokens_per_minute=100)
    first = desk.enter(limits, tokens=60)
    assert shown(first.fields)["x-ratelimit-remaining-tokens"] == "40"
    desk.refusal(limits, tokens=41)
    first.leave(10)
    assert shown(desk.enter(limits, tokens=90).fields)["x-ratelimit-remaining-tokens"] == "0"


def test_the_reservation_is_a_quarter_of_the_bytes_and_the_bound_on_the_answer() -> None:
    desk, limits = Desk(), Limits(tokens_per_minute=10_000)
    hold = desk.limiter.enter(key(limits), ROUTE, 4000, 500)
    assert shown(hold.fields)["x-ratelimit-remaining-tokens"] == "8500"
    hold = desk.limiter.enter(key(limits), ROUTE, 4000)
    assert shown(hold.fields)["x-ratelimit-remaining-tokens"] == str(7500 - ASSUMED_ANSWER_TOKENS)


def test_a_request_larger_than_the_limit_passes_when_nothing_else_is_counted() -> None:
    desk, limits = Desk(), Limits(tokens_per_minute=100)
    desk.use(limits, 1)
    refused = desk.refusal(limits, tokens=5000)
    assert refused.seconds == 61
    desk.clock.advance(refused.seconds)
    hold = desk.enter(limits, tokens=5000)
    assert shown(hold.fields)["x-ratelimit-remaining-tokens"] == "0"
    desk.refusal(limits, tokens=1)
    hold.leave(40)
    desk.enter(limits, tokens=60)


def test_what_nobody_counted_is_not_charged_and_leaving_twice_counts_once() -> None:
    desk, limits = Desk(), Limits(tokens_per_minute=100, concurrency=5)
    hold = desk.enter(limits, tokens=50)
    hold.leave(None)
    hold.leave(70)
    assert desk.limiter.tell()["rates"]["key:7"] == (1, 0, 0)


def test_so_many_at_once_and_the_next_when_one_has_ended() -> None:
    desk, limits = Desk(), Limits(concurrency=2)
    first = desk.enter(limits)
    desk.enter(limits)
    refused = desk.refusal(limits)
    assert (refused.code, refused.seconds) == ("rate_limit_exceeded", 1)
    first.leave(0)
    desk.enter(limits)


def test_the_keys_of_a_user_share_what_the_user_may() -> None:
    desk, limits = Desk(), Limits(requests_per_minute=2)
    for id in (1, 2):
        desk.enter(credential=key(None, limits, id=id))
    refused = desk.refusal(credential=key(None, limits, id=3))
    assert (refused.params["owner"], refused.params["name"]) == ("user", "ada")


def test_a_model_is_limited_for_all_its_callers_together() -> None:
    desk = Desk()
    route = ROUTE.model_copy(update={"serving": Serving(limits=Limits(requests_per_minute=1))})
    desk.limiter.enter(key(id=1), route)
    with pytest.raises(LimitReached) as caught:
        desk.limiter.enter(key(id=2), route)
    assert caught.value.params["owner"] == "model"


def test_the_headers_are_those_of_the_tightest_limit_as_openai_writes_them() -> None:
    desk = Desk()
    hold = desk.enter(credential=key(Limits(requests_per_minute=100), Limits(requests_per_minute=5)))
    assert shown(hold.fields) == {
        "x-ratelimit-limit-requests": "5",
        "x-ratelimit-remaining-requests": "4",
        "x-ratelimit-reset-requests": "1m1s",
    }
    desk.clock.advance(10.5)
    assert shown(desk.enter(Limits(tokens_per_minute=9)).fields)["x-ratelimit-reset-tokens"] == "0s"


def test_a_refusal_carries_the_headers_and_says_what_whose_and_when() -> None:
    desk, limits = Desk(), Limits(requests_per_minute=1)
    desk.enter(limits)
    desk.clock.advance(0.5)
    refused = desk.refusal(limits)
    assert shown(refused.fields) == {
        "retry-after": "61",
        "x-ratelimit-limit-requests": "1",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m1s",
    }
    error = answers.of_refusal(refused, "en")["error"]
    assert isinstance(error, dict)
    assert (error["code"], error["type"]) == ("rate_limit_exceeded", "rate_limit_error")
    assert error["message"] == "The API key 7 has used its 1 requests per minute: try again in 61 seconds."


@pytest.mark.parametrize("owner", ["key", "user", "model"])
@pytest.mark.parametrize("measure", ["requests", "tokens", "concurrency", "promised", "day", "month"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_limit_has_its_sentence(owner: Any, measure: Any, language: Any) -> None:
    refused = LimitReached(Subject(owner, "x", "x", Limits()), measure, 3, 9, until="tomorrow", left=1)
    assert "?" not in str(answers.of_refusal(refused, language)["error"]["message"])  # type: ignore[index]


def test_a_limit_that_changed_holds_for_the_next_request() -> None:
    desk = Desk()
    desk.enter(Limits(requests_per_minute=1))
    desk.enter(Limits(requests_per_minute=2))
    desk.refusal(Limits(requests_per_minute=2))


# --- budgets ---------------------------------------------------------------------------------------------------------


class Used(Spent):
    """A request that has ended."""

    def spent(self) -> Spent:
        return self


def row(tokens: int, at: datetime, key_id: int = 7) -> Used:
    return Used(key_id=key_id, user_id=2, model="tiny", started_at=at, prompt_tokens=tokens)


def test_a_budget_that_is_used_up_is_a_quota_until_its_day_ends_in_its_zone() -> None:
    desk, limits = Desk(), Limits(tokens_per_day=100, timezone="Asia/Shanghai")  # it is 20:00 there
    desk.enter(limits).leave(100)
    desk.limiter.note(row(100, desk.clock.wall()))
    refused = desk.refusal(limits)
    assert (refused.code, refused.seconds) == ("insufficient_quota", 4 * 3600)
    assert refused.params["until"] == "2026-12-01T00:00+08:00"
    desk.clock.advance(refused.seconds)
    desk.enter(limits)


def test_a_month_counts_what_the_server_has_and_what_it_has_not_yet() -> None:
    desk, limits = Desk(), Limits(tokens_per_month=100)
    desk.limiter.heed(GatewayOrders(spent={"key:7": {"2026-11": 60}}))
    desk.enter(limits)
    desk.limiter.note(row(39, desk.clock.wall()))
    desk.enter(limits)
    desk.limiter.note(row(1, desk.clock.wall()))
    assert desk.refusal(limits).params["measure"] == "month"


def test_a_row_counts_once_while_it_moves_to_the_server() -> None:
    desk, limits = Desk(), Limits(tokens_per_day=100)
    desk.enter(limits).leave(99)
    done = row(99, desk.clock.wall())
    spending, today = desk.limiter.spending, desk.clock.wall().replace(hour=0)
    counted = []
    for step in (
        lambda: desk.limiter.note(done),
        lambda: desk.limiter.were_taken([encode(done)]),
        desk.limiter.tell,
        lambda: desk.limiter.heed(GatewayOrders(spent={"key:7": {"2026-11-30": 99}})),
    ):
        step()
        counted.append(spending.ours("key:7", today) + spending.said("key:7", "2026-11-30"))
    assert counted == [99, 99, 99, 99]


def _spent(tokens: int, desk: Desk) -> Spent:
    return Spent(model="tiny", started_at=desk.clock.wall(), key_id=7, prompt_tokens=tokens)


def test_a_row_taken_after_the_question_is_kept_until_the_next_answer() -> None:
    desk, limits = Desk(), Limits(tokens_per_day=100)
    desk.enter(limits).leave(100)
    done = row(100, desk.clock.wall())
    desk.limiter.note(done)
    desk.limiter.tell()
    desk.limiter.were_taken([encode(done)])
    desk.limiter.heed(GatewayOrders())
    desk.refusal(limits)
    desk.limiter.tell()
    desk.limiter.heed(GatewayOrders())
    desk.enter(limits)


def test_what_is_left_of_a_budget_is_promised_to_those_in_flight() -> None:
    desk, limits = Desk(), Limits(tokens_per_day=100)
    hold = desk.enter(limits, tokens=100)
    refused = desk.refusal(limits)
    assert (refused.code, refused.params["measure"], refused.seconds) == ("rate_limit_exceeded", "promised", 1)
    hold.leave(10)
    desk.enter(limits)


def test_what_a_predecessor_left_on_disk_counts_until_the_server_is_back_for_a_while() -> None:
    desk, limits = Desk(), Limits(tokens_per_day=100)
    desk.limiter.spending.inherit([_spent(100, desk)])
    desk.refusal(limits)
    desk.limiter.heed(GatewayOrders())
    desk.refusal(limits)
    desk.clock.advance(10)
    desk.limiter.heed(GatewayOrders())
    desk.enter(limits)


def test_in_an_outage_the_others_are_taken_to_spend_as_we_do() -> None:
    desk, limits = Desk(), Limits(tokens_per_day=100)
    desk.limiter.heed(GatewayOrders(gateways=2))
    desk.enter(limits).leave(0)
    desk.limiter.note(row(50, desk.clock.wall()))
    desk.enter(limits).leave(0)
    desk.clock.advance(5.1)
    desk.refusal(limits)


# --- properties ------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.floats(0, 20), st.integers(0, 60), st.integers(0, 60), st.integers(0, 3)), min_size=1, max_size=60
)


@given(STEPS, st.integers(1, 8), st.integers(1, 100))
@settings(max_examples=150, deadline=None)
def test_no_minute_holds_more_than_its_limit_and_what_was_taken_beyond_the_reservation(
    steps: list[tuple[float, int, int, int]], most_requests: int, most_tokens: int
) -> None:
    desk = Desk()
    limits = Limits(requests_per_minute=most_requests, tokens_per_minute=most_tokens, concurrency=4)
    entered: list[float] = []
    charged: list[tuple[float, int, int]] = []
    open_holds: list[tuple[Hold, int]] = []
    said: list[LimitReached] = []
    for pause, reserve, use, leaves in steps:
        desk.clock.advance(pause)
        now = desk.clock.monotonic()
        for _ in range(min(leaves, len(open_holds))):
            hold, reserved = open_holds.pop(0)
            hold.leave(use)
            charged.append((now, use, max(0, use - min(reserved, most_tokens))))
        try:
            open_holds.append((desk.enter(limits, tokens=reserve), reserve))
            entered.append(now)
        except LimitReached as refused:
            said.append(refused)
        assert all(int(value) >= 0 for each in said for name, value in each.fields if b"remaining" in name)
        assert all(each.seconds >= 1 for each in said)
        assert len(open_holds) <= 4
        assert len([at for at in entered if now - at < 60]) <= most_requests
        recent = [each for each in charged if now - each[0] < 60]
        assert sum(use for _, use, _ in recent) <= most_tokens + sum(beyond for *_, beyond in recent)


@given(STEPS, st.integers(1, 4), st.integers(1, 80), st.sampled_from([None, 150]))
@settings(max_examples=150, deadline=None)
def test_who_waits_as_long_as_told_passes_when_alone(
    steps: list[tuple[float, int, int, int]], most_requests: int, most_tokens: int, budget: int | None
) -> None:
    desk = Desk()
    limits = Limits(requests_per_minute=most_requests, tokens_per_minute=most_tokens, tokens_per_day=budget)
    for pause, reserve, use, _ in steps:
        desk.clock.advance(pause)
        try:
            hold = desk.enter(limits, tokens=reserve)
        except LimitReached as refused:
            desk.clock.advance(refused.seconds)
            hold = desk.enter(limits, tokens=reserve)
        hold.leave(use)
        desk.limiter.note(row(use, desk.clock.wall()))


@given(st.data(), st.integers(2, 4), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_several_gateways_together_stay_below_twice_the_limit_whatever_the_delays(
    data: st.DataObject, count: int, limit: int
) -> None:
    clock = ManualClock()
    gateways = [Limiter(clock.monotonic, clock.wall) for _ in range(count)]
    reports: dict[int, dict[str, Any]] = {each: {} for each in range(count)}
    limits, admitted = Limits(requests_per_minute=limit), 0

    def exchange(index: int) -> None:
        reports[index] = gateways[index].tell()["rates"]
        others = [rates["key:7"][0] for at, rates in reports.items() if at != index and "key:7" in rates]
        elsewhere = {"key:7": (float(sum(others)), 0.0, 0)}
        gateways[index].heed(GatewayOrders(gateways=count, elsewhere=elsewhere))

    for index in range(count):
        exchange(index)
    for _ in range(data.draw(st.integers(1, 40))):
        index = data.draw(st.integers(0, count - 1))
        if data.draw(st.booleans()):
            exchange(index)
        for _ in range(data.draw(st.integers(0, limit))):
            try:
                gateways[index].enter(key(limits), ROUTE)
                admitted += 1
            except LimitReached:
                break
    assert admitted <= math.floor(limit * (2 - 1 / count)) + count - 1


def test_two_gateways_that_exchange_each_second_exceed_a_limit_by_a_quarter_at_most() -> None:
    clock, limit = ManualClock(), 100
    one, two = (Limiter(clock.monotonic, clock.wall) for _ in range(2))
    limits = Limits(requests_per_minute=limit)
    told: dict[Limiter, Any] = {one: {}, two: {}}
    admitted = 0
    for _ in range(55):
        for me, other in ((one, two), (two, one)):
            told[me] = me.tell()["rates"]
            elsewhere = {name: tuple(rates) for name, rates in told[other].items()}
            me.heed(GatewayOrders(gateways=2, elsewhere=elsewhere))
        for me in (one, two):
            for _ in range(limit):
                try:
                    me.enter(key(limits), ROUTE)
                    admitted += 1
                except LimitReached:
                    break
        clock.advance(1)
    assert limit <= admitted <= limit * 5 // 4 + 1


def test_a_gateway_alone_with_its_clients_gets_the_whole_limit_within_seconds() -> None:
    clock = ManualClock()
    gateway, admitted = Limiter(clock.monotonic, clock.wall), 0
    for _ in range(10):
        gateway.tell()
        gateway.heed(GatewayOrders(gateways=2))
        for _ in range(100):
            try:
                gateway.enter(key(Limits(requests_per_minute=100)), ROUTE)
                admitted += 1
            except LimitReached:
                break
        clock.advance(1)
    assert admitted == 100


def test_without_a_word_from_the_server_each_gateway_keeps_to_its_even_share() -> None:
    desk, limits = Desk(), Limits(requests_per_minute=10)
    desk.limiter.heed(GatewayOrders(gateways=2, elsewhere={"key:7": (3.0, 0.0, 0)}))
    desk.clock.advance(5.1)
    for _ in range(5):
        desk.enter(limits)
    refused = desk.refusal(limits)
    desk.clock.advance(refused.seconds)
    desk.enter(limits)


def test_a_gateway_tells_of_what_was_used_in_the_last_minute_and_forgets_the_rest() -> None:
    desk = Desk()
    desk.enter(Limits(requests_per_minute=5)).leave(3)
    assert desk.limiter.tell() == {"rates": {"key:7": (1, 3, 0)}}
    desk.clock.advance(61)
    assert desk.limiter.tell() == {"rates": {}}


def test_a_refusal_names_the_key_as_its_owner_does() -> None:
    desk, named = Desk(), key(Limits(concurrency=1)).model_copy(update={"name": "my-app"})
    desk.enter(credential=named)
    assert desk.refusal(credential=named).params["name"] == "my-app"
