"""Ctrl-K, / and ?: everything is a few letters away, with the keyboard alone."""

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import Visit, violations
from tests.e2e.test_console import PASSWORD, ensure_password, live, sign_in
from tests.harness import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def page(visitor: Visit, platform: Platform) -> Page:
    ensure_password(platform)
    page = visitor.open("/workers")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    return page


def test_a_deployment_is_reached_by_a_few_letters(page: Page, platform: Platform) -> None:
    platform.deploy("org/far-away", backend="echo", replicas=0)
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Go to")
    expect(box).to_be_focused()
    box.fill("away")
    expect(page.get_by_role("dialog").get_by_role("option", selected=True)).to_contain_text("org/far-away")
    box.press("Enter")
    expect(page.get_by_role("heading", name="org/far-away")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_arrows_choose_and_escape_leaves_everything_as_it_was(page: Page) -> None:
    page.keyboard.press("Control+k")
    first = page.get_by_role("dialog").get_by_role("option").first
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(first).to_have_attribute("aria-selected", "false")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Workers")).to_be_visible()


def test_a_slash_leads_to_the_search_and_a_question_mark_tells_the_keys(page: Page) -> None:
    page.locator("main input[type=search]").wait_for()
    page.keyboard.press("/")
    expect(page.locator("main input[type=search]")).to_be_focused()
    page.keyboard.type("?")
    expect(page.locator("main input[type=search]")).to_have_value("?")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("search on this page")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    assert violations(page) == []
