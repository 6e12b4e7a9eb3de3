"""How a build of an engine comes to a worker: an environment made by uv in steps, a path, or an image; values only."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an environment.

    install: these requirements, resolved together; `alone` without what they depend on.
    requires: what the installed package `packages[0]` depends on, but for the names in `without`.
    requires_only: of what it depends on only the names in `only`, their local label (+cpu) left out.
    alias: `packages[0]` (name==version) is written down as installed, for a program that looks itself up by that name.
    """

    do: Literal["install", "requires", "requires_only", "alias"]
    packages: tuple[str, ...]
    alone: bool = False
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """`program`: of a path the file or environment, in an image what is run; `indexes` are asked beside the usual one.

    `torch` is uv's --torch-backend, for who has no index of his own. `level` says how far the recipe was tried:
    by our tests, or only written down from the engine's documentation.
    """

    kind: Literal["venv", "path", "image"] = "venv"
    steps: tuple[Step, ...] = ()
    program: str | None = None
    image: str | None = None
    torch: str | None = None
    indexes: tuple[str, ...] = ()
    level: Literal["tested", "declared"] = "declared"


def plain(requirement: str, level: Literal["tested", "declared"] = "declared") -> Recipe:
    """Several requirements have spaces between them."""
    return Recipe(steps=(Step("install", tuple(requirement.split())),), level=level)


def document(recipe: Recipe) -> dict[str, Any]:
    """As JSON gives it back."""
    told: dict[str, Any] = json.loads(json.dumps(asdict(recipe)))
    return told
