"""The worker is killed again and again: engines and streams go on, and no wrong process is ever taken for an engine."""

import json
import os
import signal
import subprocess
import time

import pytest

from tests.harness import Platform, is_running
from tests.heavy.conftest import MODEL, Serving, Tell, deploy, rounds
from tests.heavy.load import Load
from tests.heavy.seen import (
    adoption_record,
    engine,
    engine_pid,
    engines,
    supervisor_asleep,
    verdicts,
    wait_until_back,
    worker_says,
)

pytestmark = pytest.mark.slow
FULL = 100


def kill_worker(platform: Platform) -> None:
    """And see its successor greet the server, with the engine that it found.

    One that is killed before that is silent: after `grace_seconds` of nothing else its engines are given up.
    """
    before = len(worker_says(platform, "joined"))
    platform.kill("worker", signal.SIGKILL)
    platform.until(lambda: len(worker_says(platform, "joined")) > before, 120)


def test_a_hundred_restarts_keep_the_engine_and_drop_no_stream(serving: Serving, tell: Tell) -> None:
    with serving() as platform:
        pid = engine_pid(platform)
        with Load(platform, streams=2) as load:
            for nth in range(rounds(FULL)):
                load.wait_in_flight()
                kill_worker(platform)
                assert verdicts(platform) == ["adopt"] * (nth + 1)
                assert (engine_pid(platform), engine(platform)["attempt"], engines(platform)) == (pid, 1, {pid})
            load.wait_new_answers()
        assert load.failures() == [], load.why()
    tell("kill -9 of the worker", rounds=rounds(FULL), engine_starts=1, **load.counts())


def replace_process(platform: Platform, **changed: int) -> None:
    path = adoption_record(platform)
    record = json.loads(path.read_bytes())
    record["process"] |= changed
    path.write_text(json.dumps(record))


@pytest.mark.parametrize("whose", ["ours", "another's"])
def test_a_recycled_pid_is_neither_adopted_nor_ended(serving: Serving, tell: Tell, whose: str) -> None:
    """The record names a pid whose start time is not the recorded one, as after a reuse."""
    with serving() as platform:
        for _ in range(rounds(5)):
            pid = engine_pid(platform)
            innocent = subprocess.Popen(["sleep", "600"], start_new_session=True)
            with supervisor_asleep(platform):
                platform.kill("worker", signal.SIGKILL)
                ticks = json.loads(adoption_record(platform).read_bytes())["process"]["start_ticks"]
                recycled = innocent.pid if whose == "another's" else pid
                replace_process(platform, pid=recycled, start_ticks=ticks - 7)
            wait_until_back(platform, pid)
            assert engine_pid(platform) != innocent.pid
            assert engines(platform) == {engine_pid(platform)}
            assert innocent.poll() is None
            innocent.kill()
            innocent.wait()
        assert set(verdicts(platform)) == {"relaunch"}
    tell(f"a record with {whose} pid and another start time", rounds=rounds(5), adopted=0, foreign_ended=0)


def test_a_model_deleted_meanwhile_is_reaped(serving: Serving, tell: Tell) -> None:
    with serving() as platform:
        for _ in range(rounds(5)):
            pid = engine_pid(platform)
            with supervisor_asleep(platform):
                platform.kill("worker", signal.SIGKILL)
                assert platform.api.delete(f"/api/v1/models/{MODEL}").is_success
                time.sleep(0.2)
                assert is_running(pid)
            platform.until(lambda: not engines(platform), 60)
            platform.until(lambda: not platform.api.get("/api/v1/instances").json()["items"], 30)
            deploy(platform)
        assert platform.api.get("/api/v1/instances").json()["total"] == 1
    tell("a model deleted while the worker was dead", rounds=rounds(5), engines_left=0)


def test_worker_and_engine_that_die_together_are_one_new_attempt(serving: Serving, tell: Tell) -> None:
    with serving() as platform:
        for nth in range(rounds(5)):
            pid = engine_pid(platform)
            with supervisor_asleep(platform):
                platform.kill("worker", signal.SIGKILL)
                os.kill(pid, signal.SIGKILL)
            wait_until_back(platform, pid)
            assert engine(platform)["attempt"] == nth + 2
            assert engines(platform) == {engine_pid(platform)}
    tell("worker and engine killed together", rounds=rounds(5), attempts_more_than_kills=0)
