"""Speaks to the person at the terminal: sentences by code, in the language of the locale."""

import sys

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
