"""Finds the command that was asked for, runs it, and turns whatever goes wrong into one sentence and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from gpustack_lite.cli.mishap import confess
from gpustack_lite.cli.say import complain, explain, say
from gpustack_lite.errors import Refusal

COMMANDS = (
    *("start", "join", "demo", "doctor", "login"),
    *("models", "routes", "chat", "instances", "workers", "devices", "files", "backends"),
    *("keys", "users", "groups", "sessions", "secrets", "usage", "requests", "events", "audit"),
    *("evaluate", "simulate", "rebalance"),
)


class LazyGroup(TyperGroup):
    """Loads the module of a command only when that command is called or asked for its help."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"gpustack_lite.cli.{cmd_name}")
        return typer.main.get_command(module.app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS:
            _refuse_command(args[0])
        return args[0], self.get_command(ctx, args[0]), args[1:]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(say("help_main") + "\n")


def _refuse_command(name: str) -> NoReturn:
    close = get_close_matches(name, COMMANDS, n=1)
    if close:
        complain("unknown_command_close", name=name, close=close[0])
    else:
        complain("unknown_command", name=name)
    raise typer.Exit(2)


def run(arguments: list[str]) -> None:
    root = typer.Typer(cls=LazyGroup, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
    root.callback()(_root)
    command = typer.main.get_command(root)  # not root(): that would install an excepthook of its own
    with speaking_plainly():
        command(args=arguments, prog_name="gpustack-lite")


@contextmanager
def speaking_plainly() -> Iterator[None]:
    """One sentence instead of a traceback. Exit codes: 0 done, 1 refused, 2 wrong usage, 130 interrupted."""
    sys.excepthook = confess
    try:
        yield
    except Refusal as refusal:
        explain(refusal)
        sys.exit(1)


def _root() -> None:
    """Every option belongs to a command."""
