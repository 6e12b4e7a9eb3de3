"""What is said about an attempt that ended."""

import pytest

from gpustack_lite import messages
from gpustack_lite.domain import Sentence
from worker.failures import ended, is_port_taken, last_line, too_slow

LINES = ["loading", "\x1b[31mRuntimeError: out of memory\x1b[0m", "", "  "]


@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 98] Address already in use",
        "bind: Address already in use",
        "error while attempting to bind on address ('127.0.0.1', 21000): address already in use",
        "main: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 21000",
        "listen EADDRINUSE: address already in use 127.0.0.1:21000",
    ],
)
def test_engines_say_that_the_port_is_taken(line: str) -> None:
    assert is_port_taken(["x", line, "y"])


def test_other_errors_are_not_taken_for_it() -> None:
    assert not is_port_taken(LINES)


def test_the_last_words_are_plain_text() -> None:
    assert last_line(LINES) == "RuntimeError: out of memory"
    assert last_line([]) == "-"
    assert len(last_line(["x" * 5000])) == 300


@pytest.mark.parametrize(
    ("exit_code", "expected"),
    [
        pytest.param(3, "exit code 3. Its last words: RuntimeError: out of memory", id="exit code"),
        pytest.param(-11, "signal SIGSEGV. Its last words: RuntimeError", id="signal"),
        pytest.param(-9, "SIGKILL), by a person or because memory ran out", id="killed"),
        pytest.param(None, "The engine has ended. Its last words: RuntimeError", id="adopted: nobody knows"),
    ],
)
def test_the_sentence_has_the_cause_and_the_last_words(exit_code: int | None, expected: str) -> None:
    assert expected in messages.text(ended(exit_code, LINES, None))


class Knowing:
    """As much of a backend as matters here."""

    def last_error(self, log_lines: object) -> Sentence:
        return Sentence("engine_said", {"line": "x"})


def test_a_backend_that_knows_the_error_is_believed() -> None:
    knowing = Knowing()
    assert ended(1, LINES, knowing) == Sentence("engine_said", {"line": "x", "exit_code": 1})  # type: ignore[arg-type]
    assert too_slow(60, LINES, knowing).code == "engine_said"  # type: ignore[arg-type]
    assert too_slow(61.7, LINES, None).params == {"seconds": 62, "last_line": "RuntimeError: out of memory"}
