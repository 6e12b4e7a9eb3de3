"""The locks that come with us: one for each version that is installed unasked, every file of it by its hash."""

import re

import pytest

from gpustack_lite.domain import BackendVersion
from scripts.engine_locks import locked
from worker.engines import LOCKS

_REQUIREMENT = re.compile(
    r"^(?P<name>[a-z0-9-]+)==[0-9A-Za-z.+!]+( ; [^\n]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+", re.MULTILINE
)


def lock_of(version: BackendVersion) -> str:
    return (LOCKS / f"{version.backend}-{version.version}.lock").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", list(locked()), ids=lambda each: each.backend)
def test_what_is_installed_unasked_is_locked(version: BackendVersion) -> None:
    """`python -m scripts.engine_locks` writes them anew."""
    lines = lock_of(version).splitlines()
    for requirement in (version.requirement or "").split():
        assert f"{requirement} \\" in lines


@pytest.mark.parametrize("path", sorted(LOCKS.iterdir()), ids=lambda each: each.name)
def test_every_line_of_a_lock_is_a_version_with_its_hashes(path: object) -> None:
    """No address, no directory, no option: where files come from is the administrator's business."""
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    assert _REQUIREMENT.sub("", text) == ""


def test_no_lock_is_left_of_a_version_that_is_no_more() -> None:
    assert {path.name for path in LOCKS.iterdir()} == {f"{each.backend}-{each.version}.lock" for each in locked()}
