"""Why an attempt ended, as a sentence with the engine's own last words in it."""

import re
import signal
from collections.abc import Sequence

from backends.base import Backend
from gpustack_lite.domain import Sentence

_TAKEN = re.compile(
    r"address (is )?already in use|address in use|EADDRINUSE|errno 98\b"
    r"|couldn'?t bind|could not bind|failed to bind|cannot bind|bind\(\) failed|failed to listen|socket bind failed",
    re.IGNORECASE,
)
_LONGEST_LINE = 300
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class AttemptFailed(Exception):
    """`at_once` asks for another attempt without waiting, because only the port was in the way."""

    def __init__(self, sentence: Sentence, *, at_once: bool = False) -> None:
        super().__init__(sentence.code)
        self.sentence = sentence
        self.at_once = at_once


def is_port_taken(lines: Sequence[str]) -> bool:
    return any(_TAKEN.search(line) for line in lines)


def last_line(lines: Sequence[str]) -> str:
    """The last line that says something; "-" where the engine said nothing."""
    said = (_ANSI.sub("", line).strip() for line in reversed(lines))
    return next((line for line in said if line), "-")[:_LONGEST_LINE]


def ended(exit_code: int | None, lines: Sequence[str], backend: Backend | None) -> Sentence:
    """`exit_code` is negative for a signal and None where the engine was adopted, so that nobody could ask."""
    known = None if backend is None else backend.last_error(lines)
    if known is not None:
        return Sentence(known.code, {**known.params, "exit_code": exit_code})
    words = last_line(lines)
    if exit_code is None:
        return Sentence("engine_vanished", {"last_line": words})
    if exit_code == -signal.SIGKILL:
        return Sentence("engine_killed_9", {"last_line": words, "exit_code": exit_code})
    if exit_code < 0:
        return Sentence("engine_killed", {"signal": _signal_name(-exit_code), "last_line": words})
    return Sentence("engine_exited", {"exit_code": exit_code, "last_line": words})


def too_slow(seconds: float, lines: Sequence[str], backend: Backend | None) -> Sentence:
    known = None if backend is None else backend.last_error(lines)
    return known or Sentence("engine_too_slow", {"seconds": round(seconds), "last_line": last_line(lines)})


def hung(seconds: float, lines: Sequence[str]) -> Sentence:
    return Sentence("engine_hung", {"seconds": round(seconds), "last_line": last_line(lines)})


def says_dead(status: int, lines: Sequence[str], backend: Backend | None) -> Sentence:
    known = None if backend is None else backend.last_error(lines)
    return known or Sentence("engine_says_dead", {"status": status, "last_line": last_line(lines)})


def stuck(attempt: int, lines: Sequence[str]) -> Sentence:
    return Sentence("engine_stuck", {"attempt": attempt, "last_line": last_line(lines)})


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
