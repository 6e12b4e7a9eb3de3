"""The engine is killed again and again: it always comes back, alone, and what it said before is kept."""

import os
import signal

import pytest

from tests.heavy.conftest import Serving, Tell, rounds
from tests.heavy.seen import engine, engine_pid, engines, log_of_attempt, session, wait_until_back

pytestmark = pytest.mark.slow
FULL = 20
AT_ONCE = {"GPUSTACK_LITE_RESTART_BACKOFF_SECONDS": "0.00001", "GPUSTACK_LITE_ATTEMPTS_KEPT": str(FULL + 1)}
"""The pause doubles with each failure within ten minutes of readiness; so little that it is still short at the end."""


def test_it_is_always_ready_again_and_leaves_nothing(serving: Serving, tell: Tell) -> None:
    with serving(env=AT_ONCE) as platform:
        for nth in range(1, rounds(FULL) + 1):
            old = engine_pid(platform)
            os.kill(old, signal.SIGKILL)
            wait_until_back(platform, old)
            assert engine(platform)["attempt"] == nth + 1
            assert session(old) == set()
            assert engines(platform) == {engine_pid(platform)}
            assert platform.chat("smol", "Hello", max_tokens=4)["choices"]
        for attempt in range(1, rounds(FULL) + 2):
            assert log_of_attempt(platform, attempt).stat().st_size > 0
    tell("kill -9 of the engine", rounds=rounds(FULL), ready_again=rounds(FULL), processes_left=0, logs_lost=0)
