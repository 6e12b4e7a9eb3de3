"""Each `gpustack-lite` command that a page shows is run as it stands there, against a platform of our own."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.gguf import write_tiny_gguf
from tests.harness import Platform, cli

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "README.zh-CN.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUNS_ON = ("start", "join", "demo")  # these stay in the foreground: the harness and their own tests start them

OFFLINE = {"HF_HUB_OFFLINE": "1"}
"""What a page shows must not depend on a hub."""


def shown(page: str) -> list[list[str]]:
    blocks = SHELL.findall((ROOT / page).read_text(encoding="utf-8"))
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line[1:] for line in lines if line[:1] == ["gpustack-lite"]]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    models = tmp_path_factory.mktemp("models")
    write_tiny_gguf(models / "qwen2.5-7b-q4.gguf")
    with Platform(
        tmp_path_factory.mktemp("platform"), model_roots=[models], simulate="8x910B3-64G", env=OFFLINE
    ) as running:
        running.models = models  # type: ignore[attr-defined]
        yield running


def test_the_pages_show_commands() -> None:
    assert sum(len(shown(page)) for page in PAGES) > 5


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_works_as_shown(platform: Platform, page: str) -> None:
    for name in ("qwen", "big"):
        platform.api.delete(f"/api/v1/models/{name}")
    platform.until(lambda: not platform.api.get("/api/v1/instances").json()["items"], seconds=30)
    for arguments in shown(page):
        if arguments[0] in RUNS_ON:
            assert cli(arguments[0], "--help").returncode == 0
            continue
        done = cli(*prepared(arguments, platform), env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)})
        assert done.returncode == 0, f"{page}: {arguments}\n{done.stdout}{done.stderr}"


def prepared(arguments: list[str], platform: Platform) -> list[str]:
    """The deployment shown names a file that a reader has; here the echo engine serves a small one in its place."""
    if arguments[:2] != ["models", "deploy"]:
        return arguments
    models = platform.models  # type: ignore[attr-defined]
    served = [] if "--backend" in arguments else ["--backend", "echo"]
    return [part.replace("/models/", f"{models}/") for part in arguments] + served
