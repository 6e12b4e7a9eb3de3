"""The two lanes answer alike, byte for byte: what clients hear, what engines hear, what is noted, what is left over.

5,000 examples in CI, the same 150 each time elsewhere, `GPUSTACK_LITE_LANE_EXAMPLES=1000000` before a release. What
differs is written to tests/corpus/lanes/ and stays there.
"""

import asyncio
import gc
import itertools
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpustack_lite.gateway.express import Trip
from gpustack_lite.gateway.ledger import Entry
from tests.fakes.lane_cases import as_document, cases, of_document
from tests.fakes.lanes import KEY, Case, Memory, Outcome, Reply

CORPUS = Path(__file__).parents[2] / "corpus" / "lanes"
IS_LONG = bool(os.environ.get("CI") or os.environ.get("GPUSTACK_LITE_LANE_EXAMPLES"))
EXAMPLES = int(os.environ.get("GPUSTACK_LITE_LANE_EXAMPLES") or ("5000" if IS_LONG else "150"))
HYPOTHESIS = settings(
    max_examples=EXAMPLES,
    derandomize=not IS_LONG,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


class Lanes(NamedTuple):
    loop: asyncio.AbstractEventLoop
    protocol: Memory
    asgi: Memory

    def both(self, case: Case) -> tuple[Outcome, Outcome]:
        """They begin at the same time, whatever each has waited for before."""
        clocks = self.protocol.clock, self.asgi.clock
        clocks[0].seconds = clocks[1].seconds = max(each.seconds for each in clocks)
        return self.on(self.protocol, case), self.on(self.asgi, case)

    def on(self, memory: Memory, case: Case) -> Outcome:
        return self.loop.run_until_complete(memory.play(case))


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lanes]:
    loop = asyncio.new_event_loop()
    logging.disable(logging.CRITICAL)
    yield Lanes(
        loop,
        Memory(tmp_path_factory.mktemp("protocol"), has_lane=True),
        Memory(tmp_path_factory.mktemp("asgi"), has_lane=False),
    )
    logging.disable(logging.NOTSET)
    loop.close()


def check(lanes: Lanes, case: Case) -> None:
    protocol, asgi = map(however_far, lanes.both(case))
    if protocol != asgi:
        CORPUS.mkdir(parents=True, exist_ok=True)
        (CORPUS / "found.json").write_text(json.dumps(as_document(case), indent=1))
    assert protocol == asgi
    assert not any(b"internal_error" in each for each in protocol.said)


def however_far(outcome: Outcome) -> Outcome:
    """Bytes that are no request end the connection at once, and with it the one before them in the same read: how far
    that one had come depends on the turn of the loop in which its lane begins it.
    """
    if not any(b"request_not_http" in said for said in outcome.said):
        return outcome
    rows = tuple(b"gone" if b'"cause":"client_gone"' in row else row for row in outcome.rows)
    return replace(outcome, rows=rows, engines_heard=()) if b"gone" in rows else outcome


@pytest.mark.timeout(0)
@HYPOTHESIS
@given(case=cases())
def test_the_lanes_do_not_differ(lanes: Lanes, case: Case) -> None:
    check(lanes, case)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_the_lanes_do_not_differ_where_they_once_did(lanes: Lanes, path: Path) -> None:
    check(lanes, of_document(json.loads(path.read_text())))


ANSWER = b'{"id":"1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}'
REPLY = Reply((b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER),))
BODY = b'{"model":"tiny","messages":[{"role":"user","content":"hi"}]}'
REQUEST = (
    f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
    f"Content-Length: {len(BODY)}\r\n\r\n"
).encode() + BODY


@settings(HYPOTHESIS, max_examples=max(50, EXAMPLES // 25))
@given(cuts=st.sets(st.integers(1, 3 * len(REQUEST) - 1), max_size=8), is_together=st.booleans())
def test_it_does_not_matter_how_the_bytes_arrive(lanes: Lanes, cuts: set[int], is_together: bool) -> None:
    edges = [0, *sorted(cuts), 3 * len(REQUEST)]
    reads = tuple((REQUEST * 3)[a:b] for a, b in itertools.pairwise(edges))
    for memory in (lanes.protocol, lanes.asgi):
        outcome = lanes.on(memory, Case(reads, (REPLY,) * 3, is_together=is_together))
        assert [each.startswith(b"HTTP/1.1 200 OK") for each in outcome.said[::2]] == [True, True, True, False]
        assert outcome.said[1::2] == [ANSWER] * 3
        assert len(outcome.rows) == 3
        assert [len(heard) for heard in outcome.engines_heard] == [len(outcome.engines_heard[0])]
        assert not outcome.is_closed


def test_plain_requests_take_the_lane_and_need_no_task(lanes: Lanes) -> None:
    seen: list[int] = []

    async def play() -> None:
        door = lanes.protocol.make_door()
        tasks = lanes.protocol.parts.house.state.tasks
        outcome = await lanes.protocol.play(Case((REQUEST * 2,), (REPLY, REPLY)))
        seen.extend([outcome.said.count(ANSWER), len(tasks)])
        assert door.cycle is None

    lanes.loop.run_until_complete(play())
    assert seen == [2, 0]


def test_a_request_leaves_nothing_for_the_collector(lanes: Lanes) -> None:
    def left(requests: int) -> list[str]:
        gc.collect()
        gc.disable()
        try:
            lanes.on(lanes.protocol, Case((REQUEST,) * requests, (REPLY,) * requests))
            return sorted(type(each).__name__ for each in _uncollected() if isinstance(each, Entry | Trip))
        finally:
            gc.enable()

    left(1)  # what earlier tests left
    assert left(3) == left(9)  # what is left is the connection's


def _uncollected() -> list[object]:
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return list(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
