"""The list of deployments and the tabs of one: found, broken and explained, changed, taken back, used."""

import os
import re
import signal
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Visit, violations
from tests.e2e.test_console import PASSWORD, ensure_password, live, row, sign_in
from tests.fakes.smollm import smollm_path
from tests.harness import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.integration, pytest.mark.timeout(300)]
TABS = ("instances", "events", "logs", "metrics", "config", "use")


@pytest.fixture
def page(visitor: Visit, platform: Platform) -> Page:
    ensure_password(platform)
    page = visitor.open("/models")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    return page


def ready(page: Page) -> Locator:
    return page.locator('section[data-state="ready"]')


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")


def test_logs_are_read_while_they_grow_and_over_a_killed_engine(page: Page, platform: Platform) -> None:
    """llama.cpp itself: its words arrive while one looks, its end is explained, and the next attempt goes on below."""
    platform.deploy("growing", source=str(smollm_path()), options={"max-model-len": 512, "threads": 1})
    page.goto(f"{platform.url}/models/growing")
    expect(ready(page)).to_be_visible(timeout=200_000)
    tab(page, "Logs")
    log = page.get_by_role("log")
    expect(log).not_to_be_empty()
    page.get_by_label("Only lines with").fill("no such words")
    expect(page.get_by_role("status").filter(has_text="0 of")).to_be_visible()
    page.get_by_label("Only lines with").fill("")
    assert platform.chat("growing", "Say hello.", max_tokens=4)["usage"]["completion_tokens"] > 0
    (instance,) = platform.api.get("/api/v1/instances", params={"model": "growing"}).json()["items"]
    os.kill(instance["pid"], signal.SIGKILL)
    expect(page.get_by_label("Attempt")).to_have_value("2")
    expect(ready(page)).to_be_visible(timeout=200_000)
    page.get_by_label("Attempt").select_option("1")
    expect(page).to_have_url(re.compile("attempt=1"))
    expect(log).not_to_be_empty()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == f"growing-{instance['id']}-1.log"
    tab(page, "Events")
    expect(page.locator("table.events")).to_contain_text(re.compile("SIGKILL|signal 9|killed", re.IGNORECASE))
    platform.api.delete("/api/v1/models/growing").raise_for_status()


def test_a_configuration_is_changed_compared_and_taken_back(page: Page, platform: Platform) -> None:
    platform.deploy("changing", backend="echo", options={"chunk-ms": 1})
    page.goto(f"{platform.url}/models/changing?tab=config")
    page.get_by_role("button", name="Edit").click()
    text = page.get_by_label("Configuration as YAML")
    before = text.input_value()
    text.fill(before.replace("chunk-ms: 1", "chunk-mss: 2"))
    expect(page.get_by_label("Does it fit?")).to_contain_text("chunk-mss")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text(re.compile(r"Line \d+, options.chunk-mss"))).to_be_visible()
    text.fill(before + "  - what\n")
    expect(page.get_by_role("alert").filter(has_text="is not understood as YAML")).to_be_visible()
    text.fill(before.replace("chunk-ms: 1", "chunk-ms: 2"))
    expect(page.get_by_label("What will change")).to_contain_text("+   chunk-ms: 2")
    expect(page.get_by_label("Does it fit?")).to_contain_text("It fits")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator('tr[data-generation="2"]')).to_contain_text("options")
    expect(page.get_by_label("From generation 1 to 2")).to_contain_text("-   chunk-ms: 1")
    page.get_by_role("button", name="Roll back 1").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("options")
    dialog.get_by_role("button", name="Roll back").click()
    expect(page.locator('tr[data-generation="3"]')).to_be_visible()
    assert platform.model("changing")["options"] == {"chunk-ms": 1}


def test_deleting_names_the_keys_that_use_it(page: Page, platform: Platform) -> None:
    platform.deploy("in-use", backend="echo")
    platform.wait_ready("in-use")
    platform.chat("in-use", "Say hello.")
    page.goto(f"{platform.url}/models/in-use?tab=metrics")
    expect(page.locator(".figure-list div").first).to_contain_text("1")
    expect(page.get_by_role("img", name="Requests", exact=True)).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("Used in the last 24 hours by: test.")


def test_the_list_is_narrowed_and_acted_on_and_a_deployment_is_copied(page: Page, platform: Platform) -> None:
    big = {"device-count": 1, "bytes-per-device": 200 * 1024**3}
    platform.deploy("list-a", backend="echo", trust_remote_code=True)
    platform.deploy("list-b", backend="echo", options=big)
    platform.wait_ready("list-a")
    expect(row(page, "list-a")).to_contain_text("Runs code from the model")
    expect(row(page, "list-b")).to_contain_text(re.compile(r"needs 200 GiB, at most [\d.]+ GiB free"))
    page.get_by_role("combobox", name="State").select_option("waiting")
    expect(row(page, "list-a")).to_have_count(0)
    expect(page).to_have_url(re.compile("state=waiting"))
    page.reload()
    expect(row(page, "list-b")).to_be_visible()
    page.get_by_role("combobox", name="State").select_option("")
    page.get_by_label("Pick list-a").check()
    page.get_by_label("Pick list-b").check()
    page.get_by_label("Several at once").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_contain_text("list-a: 1 replica")
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    for name in ("list-a", "list-b"):
        expect(row(page, name)).to_have_attribute("data-state", "stopped")
    row(page, "list-a").get_by_role("button", name="Copy list-a").click()
    expect(page.get_by_label(re.compile("^Name"))).to_have_value("list-a-copy")
    page.get_by_role("button", name="Deploy", exact=True).click()
    expect(page.get_by_role("heading", name="list-a-copy")).to_be_visible()
    assert platform.model("list-a-copy")["trust_remote_code"] is True


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, platform: Platform, scheme: Literal["light", "dark"], language: str) -> None:
    if platform.api.get("/api/v1/models/axe").status_code == 404:
        platform.deploy("axe", backend="echo", trust_remote_code=True, allow_pickle=True)
        platform.wait_ready("axe")
        platform.chat("axe", "Say hello.")
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    row(page, "axe").get_by_role("checkbox").check()
    assert violations(page) == []
    for name in TABS:
        page.goto(f"{platform.url}/models/axe?tab={name}")
        expect(page.locator("#model-panel > *").last).to_be_visible()
        assert violations(page) == []
