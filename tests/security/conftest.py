"""One platform for all that is asked of its doors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Platform


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one root that the platform's worker may read models from."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("doors"), model_roots=[models]) as running:
        running.deploy("doors", backend="echo")
        running.wait_ready("doors")
        yield running
