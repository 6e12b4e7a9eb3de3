"""The command line: `main` answers --version and --help at once and loads everything else only when it is asked for."""

import io
import os
import sys

COMPLETION = "_GPUSTACK_LITE_COMPLETE"
"""Set by a shell that asks for completions, which come on standard output."""


def main() -> None:
    _write_in_any_encoding()
    try:
        _answer(sys.argv[1:])
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the interpreter's last flush finds a reader
        sys.exit(1)


def _answer(arguments: list[str]) -> None:
    match arguments:
        case ["--version" | "-V"]:
            from gpustack_lite import __version__

            print(f"gpustack-lite {__version__}", flush=True)  # noqa: T201
        case [] | ["--help" | "-h" | "help"] if COMPLETION not in os.environ:
            from gpustack_lite.cli.say import tell

            tell("help_main")
        case _:
            from gpustack_lite.cli.app import run

            run(arguments)


def _write_in_any_encoding() -> None:
    """A terminal that lacks a character of a sentence, a path or an answer shows a question mark in its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
