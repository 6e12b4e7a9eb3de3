"""The server is killed under load: nobody who infers notices, and every request is accounted for exactly once."""

import signal
from collections import Counter

import pytest

from tests.heavy.conftest import Serving, Tell, rounds
from tests.heavy.load import KEY, Load, usage_rows
from tests.heavy.seen import wait_successor

pytestmark = pytest.mark.slow
FULL = 30


def test_no_request_fails_and_usage_is_whole(serving: Serving, tell: Tell) -> None:
    with serving() as platform:
        with Load(platform, streams=8, plain=2) as load:
            for _ in range(rounds(FULL)):
                load.wait_in_flight(2)
                old = platform.kill("server", signal.SIGKILL)
                load.wait_new_answers()
                wait_successor(platform, "server", old)
                platform.wait_api(60)
        assert load.failures() == [], load.why()
        sent = Counter(each.request_id for each in load.outcomes)
        platform.until(lambda: len(usage_rows(platform)) >= len(sent), 60)
        rows = Counter(usage_rows(platform))
        assert rows == sent
        (told,) = [row for row in platform.usage(by="key") if row["key"] == KEY]
        assert told["requests"] == len(load.outcomes)
    lost, doubled = len(sent - rows), len(rows - sent)
    tell("kill -9 of the server", rounds=rounds(FULL), **load.counts(), usage_lost=lost, usage_doubled=doubled)
