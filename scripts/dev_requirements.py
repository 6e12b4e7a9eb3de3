"""Prints the requirements of the dependency group `dev`: older versions of pip do not know groups."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
print("\n".join(project["dependency-groups"]["dev"]))
