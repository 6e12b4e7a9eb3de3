from gpustack_lite.api.exchange import Exchange
from gpustack_lite.wire import Credential, Limits, ModelRoute, RoutesReply, Serving
from tests.fakes.clock import START


def test_a_gateway_is_told_the_sums_of_the_others() -> None:
    exchange = Exchange()
    exchange.heard("a", {"key:1": (1.0, 10.0, 1)}, 100.0)
    exchange.heard("b", {"key:1": (2.0, 20.0, 2), "user:1": (3.0, 0.0, 0)}, 100.0)
    exchange.heard("c", {"key:1": (4.0, 40.0, 4)}, 100.0)
    assert exchange.elsewhere("a", 100.0) == {"key:1": (6.0, 60.0, 6), "user:1": (3.0, 0.0, 0)}


def test_what_a_gateway_that_is_gone_admitted_counts_for_its_minute_and_what_it_held_is_free_after_5_s() -> None:
    exchange = Exchange()
    exchange.heard("a", {"key:1": (1.0, 10.0, 1)}, 100.0)
    assert exchange.elsewhere("b", 104.9) == {"key:1": (1.0, 10.0, 1)}
    assert exchange.elsewhere("b", 105.0) == {"key:1": (1.0, 10.0, 0)}
    assert exchange.elsewhere("b", 160.0) == {}


def test_a_new_report_replaces_the_one_before() -> None:
    exchange = Exchange()
    exchange.heard("a", {"key:1": (5.0, 0.0, 0)}, 100.0)
    exchange.heard("a", {}, 101.0)
    assert exchange.elsewhere("b", 101.0) == {}


def published(revision: int, limits: Limits | None) -> RoutesReply:
    key = Credential(digest="d", kind="key", id=7, user_id=1, user="ada", role="user", limits=limits)
    serving = Serving(limits=Limits(tokens_per_month=1, timezone="Europe/Berlin"))
    model = ModelRoute(id=1, name="m", created=1, state="ready", serving=serving)
    return RoutesReply(epoch=1, models_revision=1, credentials_revision=revision, models=(model,), credentials=(key,))


def test_those_with_a_budget_have_a_calendar_of_their_zone() -> None:
    exchange, shanghai = Exchange(), Limits(tokens_per_day=1, timezone="Asia/Shanghai")
    evening = START.replace(hour=17)
    found = exchange.calendars(published(1, shanghai), evening)
    assert {subject: calendar.day.name for subject, calendar in found.items()} == {
        "key:7": "2026-12-01",
        "model:m": "2026-11-30",
    }
    assert set(exchange.calendars(published(2, Limits(requests_per_minute=1)), evening)) == {"model:m"}
    assert exchange.calendars(None, evening) == {}
