"""What the heavy tests share: how often they repeat, a model that is really served, and the table at the end."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.fakes.smollm import smollm_path
from tests.harness import Platform

MODEL = "smol"
LINES = pytest.StashKey[list[str]]()
Serving = Callable[..., AbstractContextManager[Platform]]
Tell = Callable[..., None]


def rounds(full: int) -> int:
    """`full`, or fewer where GPUSTACK_LITE_HEAVY_ROUNDS says so."""
    return min(full, int(os.environ.get("GPUSTACK_LITE_HEAVY_ROUNDS", full)))


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """A platform on which SmolLM2 is ready on llama.cpp."""

    @contextmanager
    def started(*, arguments: tuple[str, ...] = (), env: dict[str, str] | None = None) -> Iterator[Platform]:
        roots = [smollm_path().parent]
        with Platform(tmp_path, model_roots=roots, arguments=arguments, env=own_ports() | (env or {})) as platform:
            deploy(platform)
            yield platform

    return started


def own_ports() -> dict[str, str]:
    """Another platform here may take a free port first, which costs an attempt, and attempts are counted."""
    first = 22000 + os.getpid() % 100 * 100
    return {"GPUSTACK_LITE_ENGINE_PORTS": f"{first}-{first + 99}"}


def deploy(platform: Platform) -> None:
    options = {"max-model-len": 2048, "threads": 1}
    platform.deploy(MODEL, source=str(smollm_path()), options=options, restart_limit=1000)
    platform.wait_ready(MODEL, seconds=240)


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Tell:
    """One line of the table."""
    lines = request.config.stash.setdefault(LINES, [])

    def line(what: str, **found: object) -> None:
        words = [f"{name.replace('_', ' ')} {each}" for name, each in found.items()]
        lines.append(f"| {what} | {', '.join(words)} |")

    return line


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if lines := config.stash.get(LINES, []):
        terminalreporter.write_line("\n| repeated | found |\n|---|---|")
        for line in lines:
            terminalreporter.write_line(line)
