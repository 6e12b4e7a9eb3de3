"""One platform for all that is asked of its doors."""

from collections.abc import Iterator

import pytest

from tests.harness import Platform


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("doors")) as running:
        running.deploy("doors", backend="echo")
        running.wait_ready("doors")
        yield running
