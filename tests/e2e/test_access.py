"""Who may do what, from the console: a key works in OpenAI's client, and everything done stands in the audit log."""

import re
from typing import Literal

import httpx
import openai
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Visit, violations
from tests.e2e.test_console import PASSWORD, ensure_password, live, sign_in
from tests.harness import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def page(visitor: Visit, platform: Platform) -> Page:
    ensure_password(platform)
    page = visitor.open("/access")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    return page


@pytest.fixture(scope="module", autouse=True)
def model(platform: Platform) -> None:
    platform.deploy("to-be-used", backend="echo")
    platform.wait_ready("to-be-used")


def new(page: Page, what: str, **fields: str) -> None:
    page.get_by_role("button", name=f"New {what}").click()
    for label, value in fields.items():
        page.get_by_role("dialog").get_by_label(label.replace("_", " "), exact=True).fill(value)
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Make")).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def confirm(page: Page, verb: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=verb, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def tab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Access").get_by_role("link", name=name).click()


def told_once(page: Page) -> str:
    return page.locator(".once pre").inner_text().strip()


def used(platform: Platform, key: str) -> str:
    client = openai.OpenAI(base_url=f"{platform.url}/v1", api_key=key, max_retries=0)
    answer = client.chat.completions.create(model="to-be-used", messages=[{"role": "user", "content": "one two"}])
    return answer.choices[0].message.content or ""


def is_refused(platform: Platform, key: str) -> bool:
    try:
        used(platform, key)
    except openai.AuthenticationError:
        return True
    return False


def test_a_key_from_the_console_is_used_disabled_rotated_and_deleted(page: Page, platform: Platform) -> None:
    new(page, "key", Name="ci-bot", Models="to-be-*", Requests_per_minute="50")
    first = told_once(page)
    assert "one two" in used(platform, first)
    bot = page.locator('tr[data-key="ci-bot"]')
    expect(bot).to_contain_text(first[:8])
    expect(bot).to_contain_text("to-be-*")

    bot.get_by_role("button", name=re.compile("^Disable")).click()
    expect(bot).to_contain_text("disabled")
    platform.until(lambda: is_refused(platform, first), 30)
    bot.get_by_role("button", name=re.compile("^Enable")).click()
    expect(bot).not_to_contain_text("disabled")

    bot.get_by_role("button", name=re.compile("^Rotate")).click()
    confirm(page, "Rotate")
    expect(page.locator(".once pre")).not_to_have_text(first)
    second = told_once(page)
    platform.until(lambda: not is_refused(platform, first), 30)
    assert "one two" in used(platform, second)
    expect(bot).to_contain_text("the one before holds until")

    bot.get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.get_by_role("dialog")).to_contain_text("Whoever uses it is refused at once")
    confirm(page, "Delete")
    expect(bot).to_have_count(0)
    platform.until(lambda: is_refused(platform, second), 30)


def test_what_cannot_be_made_is_refused_in_the_form(page: Page) -> None:
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("useless")
    dialog.get_by_label("use models").uncheck()
    dialog.get_by_role("button", name="Make the key").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator('tr[data-key="useless"]')).to_have_count(0)


def test_a_user_is_made_put_into_a_group_and_shut_out(page: Page, platform: Platform) -> None:
    tab(page, "Users")
    new(page, "user", User_name="lin")
    password = told_once(page)
    assert signs_in(platform, "lin", password) == 200
    lin = page.locator('tr[data-user="lin"]')
    lin.get_by_label("Role lin").select_option("viewer")
    expect(lin.get_by_label("Role lin")).to_have_value("viewer")

    tab(page, "Groups")
    new(page, "group", Name="research", Members="lin", What_for="the lab")
    expect(page.locator('tr[data-group="research"]')).to_contain_text("lin")

    tab(page, "Sessions")
    theirs = page.locator("tr[data-session]").filter(has=page.get_by_text("lin", exact=True))
    expect(theirs).to_have_count(1)
    theirs.get_by_role("button", name=re.compile("^End lin")).click()
    confirm(page, "End")
    expect(theirs).to_have_count(0)

    tab(page, "Users")
    lin.get_by_role("button", name=re.compile("^Deactivate")).click()
    confirm(page, "Deactivate")
    expect(lin).to_contain_text("deactivated")
    assert signs_in(platform, "lin", password) == 401


def signs_in(platform: Platform, username: str, password: str) -> int:
    with httpx.Client(base_url=platform.url, trust_env=False) as client:
        return client.post("/api/v1/auth/login", json={"username": username, "password": password}).status_code


def test_the_audit_log_shows_who_changed_what_and_that_it_is_whole(page: Page) -> None:
    new(page, "key", Name="audited")
    secret = told_once(page)
    page.get_by_role("link", name="Audit").click()
    page.get_by_label("Who, what, or which").fill("audited")
    entry = page.locator('tr[data-audit$="audited"]')
    expect(entry).to_contain_text("admin")
    entry.get_by_role("button").click()
    expect(page.get_by_label("After")).to_contain_text('"name": "audited"')
    expect(page.locator("main")).not_to_contain_text(secret)
    page.get_by_role("button", name="Check the chain").click()
    expect(page.get_by_text(re.compile(r"Whole: \d+ rows"))).to_be_visible()
    with page.expect_download() as kept:
        page.get_by_role("link", name="Export as CSV").click()
    assert "audited" in kept.value.path().read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    for place in ("/access?tab=keys", "/access?tab=users", "/access?tab=groups", "/access?tab=sessions", "/audit"):
        goto(page, place)
        assert violations(page) == [], place


def goto(page: Page, place: str) -> None:
    origin = re.match(r"https?://[^/]+", page.url)
    assert origin is not None
    page.goto(origin[0] + place)
    page.locator("main h1").wait_for()
    loaded(page).wait_for()


def loaded(page: Page) -> Locator:
    return page.locator("main section.card, main p.soft").first
