"""What engines print when they fail, as sentences: a table of patterns, the first that matches wins."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpustack_lite.domain import Sentence

_LOOKED_AT = 400


@dataclass(frozen=True, slots=True)
class Failure:
    """A pattern's named groups become the sentence's params, and `last_line` is what the engine wrote."""

    code: str
    pattern: str


def first_known(failures: Sequence[Failure], log_lines: Sequence[str]) -> Sentence | None:
    """Patterns in the order of the table: causes stand before the consequences that the engine also prints."""
    lines = log_lines[-_LOOKED_AT:]
    for failure in failures:
        wanted = re.compile(failure.pattern)
        for line in reversed(lines):
            if match := wanted.search(line):
                said = {name: value.strip() for name, value in match.groupdict().items() if value}
                return Sentence(failure.code, {"last_line": line.strip()[:300], **said})
    return None


COMMON = (
    Failure("engine_out_of_memory", r"MemoryError|out of memory|OutOfMemory|std::bad_alloc|Cannot allocate memory"),
    Failure("engine_port_in_use", r"[Aa]ddress already in use|EADDRINUSE"),
    Failure("engine_library_missing", r"(?P<library>\S+\.so\S*): cannot open shared object file"),
    Failure("engine_illegal_instruction", r"[Ii]llegal instruction|SIGILL"),
    Failure("engine_file_missing", r"No such file or directory"),
)
"""What any engine may print."""
