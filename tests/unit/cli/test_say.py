import io
import os
from typing import NoReturn

from gpustack_lite.cli.say import Patient


class Unread(io.StringIO):
    def write(self, text: str) -> NoReturn:
        raise BrokenPipeError

    def flush(self) -> NoReturn:
        raise OSError(5, os.strerror(5))


def test_a_reader_that_left_does_not_end_the_writer() -> None:
    stream = Patient(Unread())
    assert stream.write("words") == 5
    stream.flush()


def test_a_reader_that_stays_gets_everything() -> None:
    heard = io.StringIO()
    stream = Patient(heard)
    stream.write("words")
    stream.flush()
    assert heard.getvalue() == "words"
    assert stream.isatty() is False
