"""What is said of an engine's support is what tests show."""

from pathlib import Path

import pytest

from backends import registry, support

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("key", support.PROOFS, ids="-".join)
def test_what_is_more_than_declared_has_a_test(key: tuple[str, str]) -> None:
    name, kind = key
    assert kind in registry.find(name).device_kinds
    assert (ROOT / support.PROOFS[key].test).is_file()


def test_the_page_shows_the_table() -> None:
    made = support.table(registry.find(name) for name in registry.BUILTIN)
    assert made in (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")


def test_what_nobody_tried_is_declared() -> None:
    assert support.levels(registry.find("sglang")) == {"cuda": "declared"}
    assert support.levels(registry.find("speech")) == {"cpu": "run in our tests"}
