"""Model files from a hub, and the engines with their versions and options."""

import re
import threading
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import Visit, violations, visit
from tests.e2e.test_console import PASSWORD, ensure_password, live, sign_in
from tests.fakes.hub import Hub, running_hub
from tests.harness import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.integration]
WEIGHTS = bytes(range(256)) * 4096 * 16


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/some", {"some-q4.gguf": WEIGHTS, "some-q8.gguf": WEIGHTS[::-1]})
        yield running


@pytest.fixture(scope="module")
def platform(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("platform")
    env = {"HF_ENDPOINT": hub.url, "XDG_CACHE_HOME": str(folder / "cache")}
    with Platform(folder, simulate="2x910B3-64G", env=env) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, platform: Platform) -> Iterator[Visit]:
    with visit(browser, platform.url) as visitor:
        yield visitor
        assert visitor.complaints == []
        assert visitor.hosts == {platform.url.removeprefix("http://")}


@pytest.fixture
def page(visitor: Visit, platform: Platform) -> Page:
    ensure_password(platform)
    page = visitor.open("/files")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    return page


def test_files_are_fetched_paused_resumed_and_deleted(page: Page, platform: Platform, hub: Hub) -> None:
    hub.faults.stall, hub.faults.stall_above = threading.Event(), 4 * 1024**2
    page.get_by_role("button", name="Fetch files").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Source").fill("nowhere:org/some")
    dialog.get_by_role("button", name="Fetch").click()
    expect(dialog.get_by_role("alert")).to_contain_text("nowhere")
    dialog.get_by_label("Source").fill("huggingface:org/some")
    dialog.get_by_label("Only files that match").fill("*q4*")
    dialog.get_by_role("button", name="Fetch").click()
    expect(dialog).to_have_count(0)
    row = page.locator('tr[data-source="huggingface:org/some"]')
    expect(row.get_by_role("progressbar")).to_be_visible()
    row.get_by_role("button", name="Pause").click()
    expect(row).to_have_attribute("data-state", "paused")
    hub.faults.stall.set()
    row.get_by_role("button", name="Resume").click()
    expect(row).to_have_attribute("data-state", "ready")
    expect(row).to_contain_text("16 MiB")
    row.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("16 MiB are freed")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)


def test_engines_tell_their_support_and_their_options_are_found(page: Page) -> None:
    page.get_by_role("link", name="Engines").click()
    engine = page.get_by_label("llama_cpp", exact=True)
    expect(engine).to_contain_text("run in our tests")
    engine.get_by_role("button", name="Options").click()
    page.get_by_label(re.compile("Find an option")).fill("ctx-size")
    expect(engine.locator("tbody td").first).to_have_text(re.compile("ctx-size"))
    expect(engine.get_by_text("threads", exact=True)).to_have_count(0)
    expect(page).to_have_url(re.compile("engine=llama_cpp.*q=ctx-size"))


def test_a_version_that_is_there_already_is_installed_made_default_and_removed(page: Page, platform: Platform) -> None:
    page.goto(f"{platform.url}/backends")
    engine = page.get_by_label("speech", exact=True)
    engine.get_by_role("button", name="Install a version").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Version").fill("9.9")
    dialog.get_by_label("Path on the workers").fill("/nowhere/at/all")
    dialog.get_by_role("button", name="Install").click()
    line = engine.locator('[data-version="9.9"]')
    expect(line).to_contain_text("/nowhere/at/all")
    line.get_by_role("button", name="Use by default").click()
    expect(line.get_by_text("default", exact=True)).to_be_visible()
    line.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(line).to_have_count(0)


def test_an_engine_is_described_and_deleted(page: Page, platform: Platform) -> None:
    page.goto(f"{platform.url}/backends")
    page.get_by_role("button", name="Describe an engine").click()
    dialog = page.get_by_role("dialog")
    example = dialog.get_by_label("Description").input_value()
    dialog.get_by_label("Description").fill("{")
    dialog.get_by_role("button", name="Add the engine").click()
    expect(dialog.get_by_role("alert")).to_contain_text("no JSON")
    dialog.get_by_label("Description").fill(example)
    dialog.get_by_role("button", name="Add the engine").click()
    engine = page.get_by_label("mine", exact=True)
    expect(engine).to_contain_text("described by you")
    engine.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(engine).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, platform: Platform, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    for path in ("/files", "/backends", "/backends?engine=vllm"):
        page.goto(f"{platform.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert violations(page) == []
