"""The pages: every link leads somewhere, and both READMEs give the same commands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]
    if "node_modules" not in path.parts and not path.relative_to(ROOT).parts[0].startswith(".")
)
LINK = re.compile(r"!?\[[^\]]*\]\((?!https?://|#)([^)#]+)")
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """The lines of the shell blocks without their comments."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = [line.partition("  #")[0].strip() for block in SHELL.findall(text) for line in block.splitlines()]
    return [re.sub(r'"[^"]*"', '"..."', line) for line in lines if line]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_both_readmes_give_the_same_commands() -> None:
    assert commands("README.md") == commands("README.zh-CN.md")


def test_every_mechanism_has_its_page_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"docs/{page.name}" not in readme] == []
