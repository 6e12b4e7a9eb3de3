"""A platform and a browser for each module; nothing of one test is left in the browser for the next."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import Visit, chromium, visit
from tests.harness import Platform


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform"), simulate="2x910B3-64G") as platform:
        yield platform


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def visitor(browser: Browser, platform: Platform) -> Iterator[Visit]:
    """Whatever a test does: no complaint in the browser's console, and not one request to another host."""
    with visit(browser, platform.url) as visitor:
        yield visitor
        assert visitor.complaints == []
        assert visitor.hosts == {platform.url.removeprefix("http://")}
