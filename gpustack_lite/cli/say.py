"""Speaks to the person at the terminal: sentences by code, in the language of the locale."""

import contextlib
import sys
from typing import Any, TextIO

from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Param, Refusal
from gpustack_lite.messages import language_of_terminal, text


def say(code: str, /, **params: Param) -> str:
    return text(Sentence(code, params), language_of_terminal())


def tell(code: str, /, **params: Param) -> None:
    """On standard output, at once also when it is a pipe."""
    write(say(code, **params))


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def complain(code: str, /, **params: Param) -> None:
    """On standard error."""
    sys.stderr.write(say(code, **params) + "\n")
    sys.stderr.flush()


def explain(refusal: Refusal) -> None:
    """One sentence on standard error."""
    complain(refusal.code, **refusal.params)


class Patient:
    """A standard stream whose reader may leave: what nobody can read any more is dropped, and the writer goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def outlive_readers() -> None:
    """For a process on which others depend: neither a closed terminal nor a `| head` may end it."""
    sys.stdout, sys.stderr = Patient(sys.stdout), Patient(sys.stderr)
