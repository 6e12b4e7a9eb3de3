"""The command line: `main` answers --version and --help at once and loads everything else only when it is asked for."""

import os
import sys

COMPLETION = "_GPUSTACK_LITE_COMPLETE"
"""Set by a shell that asks for completions, which come on standard output."""


def main() -> None:
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
