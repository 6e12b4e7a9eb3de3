"""A gateway is killed under load: what went through it breaks, nothing else does, and usage on disk arrives once."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.harness import Platform
from tests.heavy.conftest import Serving, Tell, rounds
from tests.heavy.load import Load, usage_rows
from tests.heavy.seen import wait_successor

pytestmark = pytest.mark.slow
FULL = 10
ON_DISK_SECONDS = 2.0
"""Rows wait some tenths of a second in memory, so that many are written together."""


def ports_held_by(platform: Platform, role: str) -> set[int]:
    """The clients' ports of the connections that this process has."""
    pid = platform.pid(role)
    inodes = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()}
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {int(each[2].rpartition(":")[2], 16) for each in fields if f"socket:[{each[9]}]" in inodes}


def is_just_before(ended: float | None, moments: list[float]) -> bool:
    return any(0 <= moment - (ended or 0) < ON_DISK_SECONDS for moment in moments)


def test_only_what_went_through_it_breaks(serving: Serving, tell: Tell) -> None:
    broken, killed = 0, list[float]()
    with serving(arguments=("--gateways", "2")) as platform:
        with Load(platform, streams=6) as load:
            for nth in range(rounds(FULL)):
                streaming = load.wait_in_flight(3)
                role = f"gateway-{nth % 2}"
                old, held = platform.pid(role), ports_held_by(platform, role)
                killed.append(time.monotonic())
                platform.kill(role, signal.SIGKILL)
                load.wait_ended(streaming)
                load.wait_new_answers()
                hurt = [each for each in load.failures() if each.error and (each.ended or 0) >= killed[-1]]
                untouched = [each for each in streaming if each.local_port not in held]
                assert [each for each in hurt if each in untouched] == [], load.why()
                broken += len(hurt)
                wait_successor(platform, role, old)
                time.sleep(ON_DISK_SECONDS)
        whole = [each for each in load.outcomes if each.ended and not each.error]
        on_disk = {each.request_id for each in whole if not is_just_before(each.ended, killed)}
        platform.until(lambda: on_disk <= set(usage_rows(platform)), 60)
        rows = Counter(usage_rows(platform))
        assert set(rows.values()) == {1}
        lost = {each.request_id for each in whole} - set(rows)
    tell(
        "kill -9 of one of two gateways",
        rounds=rounds(FULL),
        streams=len(load.outcomes),
        broken_with_it=broken,
        rows_lost=len(lost),
    )
