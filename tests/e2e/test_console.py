"""The console as a person meets it: real platform, real browser."""

import re
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Visit, violations
from tests.harness import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.integration]
PASSWORD = "correct horse battery"
STATES = (("axe-ready", "ready"), ("axe-starting", "starting"), ("axe-pending", "pending"), ("axe-failed", "failed"))


@pytest.fixture
def page(visitor: Visit, platform: Platform) -> Page:
    """Signed in, on the models."""
    ensure_password(platform)
    page = visitor.open("/models")
    sign_in(page, PASSWORD)
    expect(page.get_by_role("heading", name="Models", exact=True)).to_be_visible()
    expect(live(page)).to_have_text("Live")
    return page


def ensure_password(platform: Platform) -> None:
    """Tests come in any order; the first one that signs in has changed the initial password."""
    file = password_file(platform)
    if not file.exists():
        return
    initial = file.read_text().strip()
    with httpx.Client(base_url=platform.url, trust_env=False) as client:
        token = client.post("/api/v1/auth/login", json={"username": "admin", "password": initial}).json()["token"]
        answer = client.post(
            "/api/v1/auth/password",
            json={"current": initial, "new": PASSWORD},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 204, answer.text


def password_file(platform: Platform) -> Path:
    return platform.data_dir / "initial_admin_password"


def sign_in(page: Page, password: str) -> None:
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def live(page: Page) -> Locator:
    return page.get_by_test_id("live")


def row(page: Page, model: str) -> Locator:
    return page.locator(f'tr[data-model="{model}"]')


def test_the_first_sign_in_asks_for_a_new_password_and_removes_the_file(visitor: Visit, platform: Platform) -> None:
    platform.api.post("/api/v1/users/admin/reset-password").raise_for_status()
    page = visitor.open("/workers")
    sign_in(page, "wrong")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator("form")).to_contain_text(re.compile("password", re.IGNORECASE))
    sign_in(page, password_file(platform).read_text().strip())
    expect(page.get_by_role("heading", name="Choose a new password")).to_be_visible()
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password, once more").fill(PASSWORD)
    page.get_by_role("button", name="Save and go on").click()
    expect(page.get_by_role("heading", name="Workers")).to_be_visible()
    assert not password_file(platform).exists()


def test_a_model_appears_becomes_ready_and_goes_without_a_reload(page: Page, platform: Platform) -> None:
    page.evaluate("window.sameDocument = true")
    platform.deploy("lively", backend="echo")
    expect(row(page, "lively")).to_contain_text("Ready")
    platform.api.delete("/api/v1/models/lively").raise_for_status()
    expect(row(page, "lively")).to_have_count(0)
    assert page.evaluate("window.sameDocument")


def test_a_model_tells_how_it_started_and_how_to_use_it(page: Page, platform: Platform) -> None:
    platform.deploy("told", backend="echo")
    row(page, "told").get_by_role("link", name="told").click()
    steps = page.locator("ol.steps")
    expect(steps).to_contain_text("Ready")
    expect(steps).to_contain_text("64 MiB of memory")
    expect(steps.locator("li").first).to_contain_text("Pending")
    page.get_by_role("tab", name="Use it").click()
    expect(page.get_by_role("region", name="Use it")).to_contain_text(f"{platform.url}/v1/chat/completions")
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("link", name=re.compile("Logs of instance")).click()
    expect(page.get_by_role("log")).not_to_be_empty()


def test_a_model_that_fits_nowhere_says_why_with_numbers(page: Page, platform: Platform) -> None:
    platform.deploy("too-much", backend="echo", options={"device-count": 9, "bytes-per-device": 1024**3})
    expect(row(page, "too-much")).to_contain_text("Pending")
    expect(row(page, "too-much").locator(".sentence")).to_contain_text("9")
    row(page, "too-much").get_by_role("link").click()
    expect(page.get_by_role("heading", name="Why it is not running")).to_be_visible()


def test_an_engine_that_ends_tells_its_last_words_and_keeps_its_logs(page: Page, platform: Platform) -> None:
    options = {"exit-code": 3, "exit-line": "RuntimeError: the tensor is bent"}
    platform.deploy("bent", backend="echo", options=options, restart_limit=0)
    expect(row(page, "bent")).to_contain_text("Failed")
    expect(row(page, "bent").locator(".sentence")).to_contain_text("the tensor is bent")
    row(page, "bent").get_by_role("link").click()
    page.get_by_role("link", name=re.compile("Logs of instance")).click()
    expect(page.get_by_role("log")).to_contain_text("the tensor is bent")
    expect(page.get_by_label("Attempt")).to_have_value("1")


def test_a_model_is_seen_starting_before_it_is_ready(page: Page, platform: Platform) -> None:
    platform.deploy("slow", backend="echo", options={"load-ms": 3000})
    expect(row(page, "slow")).to_contain_text("Starting")
    expect(row(page, "slow")).to_contain_text("Ready")


def test_devices_that_are_not_there_are_marked_and_their_claims_are_shown(page: Page, platform: Platform) -> None:
    platform.deploy("claims", backend="echo", options={"device-count": 1, "bytes-per-device": 48 * 1024**3})
    expect(row(page, "claims")).to_contain_text("simulated")
    page.get_by_role("link", name="Workers").click()
    expect(page.get_by_role("img", name=re.compile("48 GiB claimed"))).to_have_count(1)
    expect(page.locator(".worker tbody")).to_contain_text("simulated")


def test_a_server_that_was_away_is_noticed_and_missed_changes_are_shown(page: Page, platform: Platform) -> None:
    platform.deploy("gone-meanwhile", backend="echo")
    expect(row(page, "gone-meanwhile")).to_contain_text("Ready")
    platform.kill("server")
    expect(live(page)).not_to_have_text("Live")
    platform.wait_api()
    platform.until(lambda: platform.api.delete("/api/v1/models/gone-meanwhile").status_code in {202, 204, 404}, 60)
    expect(live(page)).to_have_text("Live")
    expect(row(page, "gone-meanwhile")).to_have_count(0)


def test_the_language_changes_everything_at_once(page: Page, platform: Platform) -> None:
    platform.deploy("bilingual", backend="echo")
    expect(row(page, "bilingual")).to_contain_text("Ready")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("heading", name="模型", exact=True)).to_be_visible()
    expect(row(page, "bilingual")).to_contain_text("就绪")
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    row(page, "bilingual").get_by_role("link").click()
    expect(page.locator("ol.steps li").last).to_contain_text("就绪")


def test_more_tabs_than_a_browser_has_connections_are_all_live(page: Page, visitor: Visit, platform: Platform) -> None:
    tabs = [page, *(visitor.open("/models") for _ in range(8))]
    for tab in tabs:
        expect(live(tab)).to_have_text("Live")
    platform.deploy("in-all-tabs", backend="echo")
    for tab in tabs:
        expect(row(tab, "in-all-tabs")).to_contain_text("Ready")


def test_signing_out_ends_every_tab(page: Page, visitor: Visit) -> None:
    other = visitor.open("/workers")
    expect(live(other)).to_have_text("Live")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()


@pytest.fixture(scope="module")
def models_in_every_state(platform: Platform) -> None:
    """The looks that a page can have: ready, on its way, nowhere to go, given up."""
    platform.deploy("axe-ready", backend="echo")
    platform.deploy("axe-starting", backend="echo", options={"load-ms": 600_000})
    platform.deploy("axe-pending", backend="echo", options={"device-count": 9})
    platform.deploy("axe-failed", backend="echo", options={"exit-code": 1}, restart_limit=0)
    platform.wait_ready("axe-ready")


@pytest.mark.usefixtures("models_in_every_state")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    for name, state in STATES:
        expect(page.locator(f'tr[data-model="{name}"][data-state="{state}"]')).to_be_visible()
    assert violations(page) == []
    for name, _ in STATES:
        row(page, name).get_by_role("link").click()
        expect(page.locator("ol.steps")).to_be_visible()
        assert violations(page) == []
        page.locator('nav a[href$="/models"]').click()
    row(page, "axe-ready").get_by_role("link").click()
    page.locator("td a").click()
    expect(page.get_by_role("log")).not_to_be_empty()
    assert violations(page) == []
    page.locator('nav a[href$="/workers"]').click()
    expect(page.locator(".worker tbody tr")).to_have_count(2)
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing_at_the_door(visitor: Visit, scheme: Literal["light", "dark"], language: str) -> None:
    page = visitor.open("/models")
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    page.locator("input[type=password]").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.locator(".mantine-InputWrapper-error")).to_be_visible()
    assert violations(page) == []


def test_everything_is_reached_with_the_keyboard(page: Page, platform: Platform) -> None:
    platform.deploy("by-key", backend="echo")
    link = row(page, "by-key").get_by_role("link")
    expect(link).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Tab")
        if link.evaluate("(element) => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="by-key")).to_be_visible()
