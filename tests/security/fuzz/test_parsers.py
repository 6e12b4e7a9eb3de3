"""Parsers of foreign bytes refuse in their own words, work no longer than the bytes are long, and hold no more."""

import importlib
import os
import re
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.harness import ROOT
from tests.security.fuzz.not_foreign import NOT_FOREIGN
from tests.security.fuzz.targets import TARGETS, Target

CORPUS = ROOT / "tests" / "corpus"
OURS = tuple(str(ROOT / each) for each in ("gpustack_lite", "backends", "scheduler", "worker"))
EXAMPLES = int(os.environ.get("GPUSTACK_LITE_FUZZ_EXAMPLES", "25"))
"""Of each target."""
START_STEPS = 30_000
BYTES_EACH, START_BYTES = 400, 16 * 1024**2
NASTY = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xf0\x9f\x92\xa5",
    b"9" * 400,
    b"-",
    b"\r\n",
    b" " * 300,
    b"A" * 3000,
    b"%s",
    b"\xed\xa0\x80",
)
PRIMITIVES = re.compile(
    r"json\.loads?\(|raw_decode\(|json\.[dD]ecode|Decoder\(|yaml\.(safe_load|compose|load)\(|struct\.unpack|\.unpack_from\("
    r"|httptools\.Http\w+Parser\(|parse_qs\(|model_validate_json\(|literal_eval\(|pickle\.loads?\(|ElementTree"
    r"|tarfile\.|zipfile\.|tomllib\.|csv\.reader\(|_Reader\(|BytesParser\("
)


def seeds(target: Target) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / target.name).iterdir())]


@st.composite
def damaged(draw: st.DrawFn, target: Target) -> bytes:
    """A seed, with up to four stretches of it cut out, doubled, flipped or replaced by a word or part of another."""
    known = seeds(target)
    data = draw(st.sampled_from(known))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + draw(st.sampled_from((0, 1, 8, 200))))))
        middle = draw(
            st.sampled_from((*NASTY, *target.words, data[start:end] * 2, data[start:end][::-1]))
            | st.binary(max_size=12)
            | st.sampled_from(known).map(lambda other: other[: len(other) // 2])
        )
        data = data[:start] + middle + data[end:]
    return data


class TooManySteps(BaseException):
    """Past every handler, so that nobody takes it for a refusal."""


@contextmanager
def bounded(steps: int) -> Iterator[None]:
    """At most so many lines of ours, whatever the machine is busy with."""
    left = steps

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooManySteps(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(OURS) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def feed(target: Target, data: bytes) -> None:
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    with bounded(START_STEPS + target.steps * len(data)), suppress(target.refuses):
        target.parse(data)
    most = tracemalloc.get_traced_memory()[1] - held
    assert most < START_BYTES + BYTES_EACH * len(data), f"{most} bytes for {len(data)}"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("target", TARGETS, ids=lambda each: each.name)
def test_whatever_it_is_fed_a_parser_refuses_in_its_own_words(target: Target) -> None:
    tracemalloc.start()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(damaged(target))
    def hold(data: bytes) -> None:
        feed(target, data)

    try:
        for seed in seeds(target):
            feed(target, seed)
        hold()
    finally:
        tracemalloc.stop()


def parsing_modules() -> set[str]:
    """Those of ours that call something which takes bytes apart."""
    found = set()
    for package in OURS:
        for path in Path(package).rglob("*.py"):
            if "/ui/" not in str(path) and PRIMITIVES.search(path.read_text(encoding="utf-8")):
                found.add(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return found


def covered() -> set[str]:
    named = {module for target in TARGETS for module in target.modules}
    roots = ("backends.", "worker.", "scheduler.")
    return {each if each.startswith(roots) else f"gpustack_lite.{each}" for each in named}


def test_a_new_parser_needs_a_target() -> None:
    """Or a reason why its bytes are nobody else's."""
    assert parsing_modules() - covered() - NOT_FOREIGN.keys() == set()
    assert NOT_FOREIGN.keys() - parsing_modules() == set(), "reasons for modules that take nothing apart"
    assert NOT_FOREIGN.keys() & covered() == set()
    for module in covered():
        importlib.import_module(module)


def test_every_target_has_seeds_and_nothing_else_lies_there() -> None:
    assert {each.name for each in TARGETS} == {each.name for each in CORPUS.iterdir()} - {"lanes"}
    assert len({each.name for each in TARGETS}) == len(TARGETS)


@pytest.mark.parametrize(
    "parse",
    [
        pytest.param(lambda data: data.decode("ascii"), id="another error"),
        pytest.param(lambda data: bytearray(40 * 1024**2), id="much memory"),
        pytest.param(lambda data: media_that_never_ends(), id="no end"),
    ],
)
def test_a_bad_parser_is_found(parse: Any) -> None:
    tracemalloc.start()
    try:
        with pytest.raises((UnicodeDecodeError, AssertionError, TooManySteps)):
            feed(Target("source", (), parse), b"\xff")
    finally:
        tracemalloc.stop()


def media_that_never_ends() -> None:
    """Our own code without an end: a WAV that is all chunks of no length."""
    from gpustack_lite.gateway.media import ImageCount

    count = ImageCount("/v1/images/generations")
    while True:
        count.feed(b"x")
