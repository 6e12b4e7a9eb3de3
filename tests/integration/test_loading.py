"""What a program loads decides how fast it starts: packages that it has no use for stay where they are."""

import subprocess
import sys

import pytest

from tests.harness import environment

pytestmark = pytest.mark.integration
PAINTERS = {"rich", "pygments", "click", "typer"}


def said(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("module", "useless"),
    [
        ("worker.main", PAINTERS | {"fastapi", "sqlalchemy", "uvicorn"}),
        ("gpustack_lite.gateway.main", {"rich", "pygments", "typer", "fastapi", "sqlalchemy", "httpx"}),
        (
            "gpustack_lite.server.main",
            {"rich", "pygments", "typer", "alembic", "httpx", "sqlalchemy.dialects.postgresql"},
        ),
        ("gpustack_lite.client", PAINTERS),
    ],
)
def test_a_program_loads_nothing_that_it_has_no_use_for(module: str, useless: set[str]) -> None:
    code = f"import sys, {module}; print(sorted({useless} & set(sys.modules)))"
    assert said(code) == "[]"


def test_httpx_keeps_its_own_program() -> None:
    code = "import gpustack_lite.httpx_alone, httpx._main; print(httpx._main.main.name)"
    assert said(code) == "main"
