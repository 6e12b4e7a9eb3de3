"""Usage and the request log: sums that agree with the API, rows that say why, and nothing of what others did."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import Visit, violations, visit
from tests.e2e.test_console import PASSWORD, ensure_password, live, sign_in
from tests.harness import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.integration]
ASKED = 55
"""More than one page of the list."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform")) as platform:
        platform.deploy("busy", backend="echo")
        platform.deploy("idle", backend="echo")
        for name in ("busy", "idle"):
            platform.wait_ready(name)
        for _ in range(ASKED):
            platform.chat("busy", "one two three")
        platform.chat("idle", "once")
        ensure_password(platform)
        refused = ask(platform, platform.key(), "not-there")
        assert refused.status_code == 404
        platform.until(lambda: len(rows(platform)) == ASKED + 2, seconds=30)
        yield platform


def ask(platform: Platform, key: str, model: str) -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": "a secret word"}]}
    headers = {"Authorization": f"Bearer {key}", "X-Request-ID": f"asked-of-{model}"}
    return httpx.post(f"{platform.url}/v1/chat/completions", json=body, headers=headers, trust_env=False, timeout=60)


def rows(platform: Platform) -> list[dict[str, object]]:
    found: list[dict[str, object]] = platform.api.get("/api/v1/requests?limit=1000").json()["items"]
    return found


@pytest.fixture
def page(visitor: Visit) -> Page:
    page = visitor.open("/usage")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    return page


def test_usage_is_a_curve_a_table_and_a_file_that_agree_with_the_api(page: Page, platform: Platform) -> None:
    page.get_by_label("Shown").select_option("tokens")
    expect(
        page.get_by_role("img", name=re.compile(f"Tokens, in and out by hour.* {ASKED * 6 + 2} in all"))
    ).to_be_visible()
    expect(page.locator(".chart canvas")).to_be_visible()
    busy = page.locator('tr[data-name="busy"] td.number')
    expect(busy.first).to_have_text(str(ASKED))
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    saved = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    by_api = {each["model"]: each["requests"] for each in platform.usage() if each["requests"]}
    assert {each["model"]: int(each["requests"]) for each in saved if each["requests"] != "0"} == by_api
    page.get_by_label("By", exact=False).first.select_option("key")
    expect(page.locator('tr[data-name="test"] td.number').first).to_have_text(str(ASKED + 1))
    assert "by=key" in page.url
    page.reload()
    expect(page.locator('tr[data-name="test"]')).to_be_visible()
    page.get_by_label("Time").select_option("chosen")
    page.get_by_label("From").fill("2024-01-01")
    expect(page.get_by_role("img", name=re.compile("by day, 2024-01-01"))).to_be_visible()


def test_the_log_is_read_page_by_page_narrowed_and_opened(page: Page, platform: Platform) -> None:
    page.get_by_role("link", name="Request log").click()
    list_of = page.locator("tr[data-request]")
    expect(list_of).to_have_count(50)
    page.get_by_role("button", name="Show older ones").click()
    expect(list_of).to_have_count(ASKED + 2)
    page.get_by_label("Status").select_option("4xx")
    expect(list_of).to_have_count(1)
    expect(list_of).to_contain_text("Refused")
    list_of.get_by_role("button").click()
    details = page.locator(".details")
    expect(details).to_contain_text("not-there")
    expect(details).to_contain_text("asked-of-not-there")
    assert re.search(r"status=4xx.*open=", page.url)
    page.reload()
    expect(details).to_contain_text("model_not_found")
    page.get_by_role("button", name="Clear the filters").click()
    expect(list_of).to_have_count(50)
    page.get_by_label("Model").select_option("idle")
    expect(list_of).to_have_count(1)
    list_of.get_by_role("button").click()
    expect(details).to_contain_text("It was answered to its end.")
    expect(page.get_by_role("img", name=re.compile("Where the time went: .*until the end"))).to_be_visible()
    (row,) = platform.requests("idle")
    expect(page.get_by_label("Request id to copy")).to_contain_text(row["request_id"])
    page.goto(f"{platform.url}/requests?request=asked-of-not-there")
    expect(list_of).to_have_count(1)
    page.goto(f"{platform.url}/requests?to=2024-01-01T00:00")
    expect(page.get_by_text("No request matches.")).to_be_visible()
    assert "a secret word" not in page.content()


def test_a_plain_user_sees_what_it_did_itself(browser: Browser, platform: Platform) -> None:
    person = {"username": "lin", "password": PASSWORD, "must_change_password": False}
    platform.api.post("/api/v1/users", json=person).raise_for_status()
    with visit(browser, platform.url) as visitor:
        page = visitor.open("/requests")
        page.get_by_label("User name").fill("lin")
        sign_in(page, PASSWORD)
        expect(page.get_by_text("Only your own requests are listed.")).to_be_visible()
        expect(page.get_by_role("heading", name="No request yet")).to_be_visible()
        expect(page.get_by_label("User", exact=True)).to_have_count(0)
        page.get_by_role("link", name="Usage").click()
        expect(page.get_by_text("Nothing was asked in this time.")).to_be_visible()
        assert visitor.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, platform: Platform, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    expect(page.locator(".chart canvas")).to_be_visible()
    assert violations(page) == []
    page.goto(f"{platform.url}/requests?status=4xx")
    page.locator(".row-opener").click()
    expect(page.locator(".details")).to_be_visible()
    assert violations(page) == []
