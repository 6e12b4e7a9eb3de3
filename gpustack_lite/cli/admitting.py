"""`--access` and `--manager` as the `access` of a model or a route."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gpustack_lite.cli.say import say

Access = Annotated[list[str] | None, typer.Option("--access", metavar="WHO", help=say("help_access"))]
Manager = Annotated[list[str] | None, typer.Option("--manager", metavar="WHO", help=say("help_manager"))]
EVERYBODY, ADMINS = "everybody", "admins"


def access_of(named: Sequence[str], managers: Sequence[str]) -> dict[str, Any]:
    """The field `access` of a body, and no field where nothing was said; BadParameter (exit code 2) for other words."""
    if not named and not managers:
        return {}
    if list(named) == [EVERYBODY] and not managers:
        return {"access": None}
    split = [_named(each) for each in named if each != ADMINS]
    found: dict[str, list[str]] = {"users": [], "groups": [], "managers": [":".join(_named(each)) for each in managers]}
    for kind, name in split:
        found[f"{kind}s"].append(name)
    return {"access": found}


def _named(who: str) -> tuple[str, str]:
    kind, _, name = who.partition(":")
    if kind not in {"user", "group"} or not name:
        raise typer.BadParameter(say("needs_access", given=who))
    return kind, name
