"""The supervisor is told to load new code, or killed and started anew: requests and engines live through both."""

import os
import signal

import pytest

from tests.harness import Platform
from tests.heavy.conftest import Serving, Tell, rounds
from tests.heavy.load import Load
from tests.heavy.seen import engine, engine_pid, engines, verdicts, wait_verdicts

pytestmark = pytest.mark.slow
ROLES = ("server", "gateway-0", "worker")
FULL = 20


def pids(platform: Platform) -> dict[str, int | None]:
    return {role: platform.pid(role) for role in ROLES}


def wait_for_successors(platform: Platform, before: dict[str, int | None]) -> None:
    def are_there() -> bool:
        now = pids(platform)
        return all(now[role] not in {None, before[role]} for role in ROLES)

    platform.until(are_there, 90)


def test_reloading_breaks_no_stream_and_refuses_no_connection(serving: Serving, tell: Tell) -> None:
    with serving() as platform:
        pid, supervisor = engine_pid(platform), platform.supervisor_pid
        with Load(platform, streams=4, plain=2) as load:
            for _ in range(rounds(FULL)):
                load.wait_in_flight(2)
                before, found = pids(platform), len(verdicts(platform))
                platform.signal(signal.SIGHUP)
                wait_for_successors(platform, before)
                wait_verdicts(platform, found)
                load.wait_new_answers()
                assert (engine_pid(platform), engine(platform)["attempt"]) == (pid, 1)
        assert load.failures() == [], load.why()
        assert platform.supervisor_pid == supervisor
    tell("SIGHUP of the supervisor", rounds=rounds(FULL), engine_starts=1, **load.counts())


def test_killed_and_started_anew_it_takes_over_what_lives(serving: Serving, tell: Tell) -> None:
    with serving() as platform:
        pid = engine_pid(platform)
        with Load(platform, streams=4, plain=2) as load:
            for _ in range(rounds(FULL)):
                load.wait_in_flight(2)
                before, url = pids(platform), platform.url
                os.kill(platform.supervisor_pid, signal.SIGKILL)
                platform.reap()
                load.wait_new_answers()
                platform.start()
                wait_for_successors(platform, before)
                load.wait_new_answers()
                assert platform.url == url
                assert (engine_pid(platform), engine(platform)["attempt"], engines(platform)) == (pid, 1, {pid})
        assert load.failures() == [], load.why()
    tell("kill -9 of the supervisor, then start", rounds=rounds(FULL), engine_starts=1, **load.counts())
