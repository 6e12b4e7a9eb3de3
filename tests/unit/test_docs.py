"""The pages: every link leads somewhere, and both READMEs give the same commands."""

import re
from pathlib import Path

import pytest

from gpustack_lite.settings import Settings
from scripts import security_surface

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


def test_the_page_of_doors_is_the_table_of_routes() -> None:
    """`python -m scripts.security_surface` writes it anew."""
    assert security_surface.PAGE.read_text(encoding="utf-8") == security_surface.page()


UNIT = re.compile(r"^```ini\n(.*?)^```", re.MULTILINE | re.DOTALL)


def directives() -> dict[str, dict[str, list[str]]]:
    """Of the systemd unit in the docs, by section; systemd takes a key several times."""
    (unit,) = UNIT.findall((ROOT / "docs" / "confinement.md").read_text(encoding="utf-8"))
    found: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in unit.splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, sign, value = line.partition("=")
            assert sign
            section.setdefault(key, []).append(value)
    return found


def test_the_unit_hardens_what_engines_do_not_need() -> None:
    service = directives()["Service"]
    assert service["NoNewPrivileges"] == ["yes"]
    assert service["ProtectSystem"] == ["strict"]
    assert service["KillMode"] == ["process"]
    assert service["Delegate"] == ["yes"]
    (capabilities,) = service["CapabilityBoundingSet"]
    assert not {"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SYS_MODULE", "CAP_SYS_RAWIO"} & set(capabilities.split())


def test_the_unit_sets_only_settings_that_there_are() -> None:
    named = [value.partition("=")[0] for value in directives()["Service"]["Environment"]]
    settings = {f"GPUSTACK_LITE_{name.upper()}" for name in Settings.model_fields}
    assert set(named) <= settings
