"""The console's own checks, run as part of ours: style, types, unit tests, and what a browser has to load."""

import json
import re
import subprocess
from pathlib import Path

import playwright
import pytest

from scripts import console_types
from tests.e2e.browser import ROOT

pytestmark = pytest.mark.integration
UI = ROOT / "ui"
NODE = Path(playwright.__file__).parent / "driver" / "node"
"""The one that came with Playwright: a machine's own may be too old, or missing."""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["node_modules/.bin/biome", "check"], id="style"),
        pytest.param(["node_modules/.bin/tsc", "--noEmit"], id="types"),
        pytest.param(["node_modules/.bin/vitest", "run"], id="unit tests"),
        pytest.param(["scripts/budget.mjs"], id="weight"),
    ],
)
def test_the_console_passes(command: list[str]) -> None:
    assert (UI / "node_modules").is_dir(), "the console's tools are missing: run `npm ci` in ui/"
    done = subprocess.run([NODE, *command], cwd=UI, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_of_the_api_are_those_of_the_server() -> None:
    written = console_types.TYPES.read_text(encoding="utf-8")
    assert written == console_types.types(str(NODE)), "the API changed: run scripts/console_types.py"


def test_the_lock_file_names_no_place_to_download_from() -> None:
    assert '"resolved"' not in (UI / "package-lock.json").read_text(encoding="utf-8")


def test_every_package_of_the_console_has_an_exact_version() -> None:
    package = json.loads((UI / "package.json").read_text(encoding="utf-8"))
    wanted = package["dependencies"] | package["devDependencies"]
    assert {name: version for name, version in wanted.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)} == {}
