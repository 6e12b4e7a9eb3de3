"""Workers, their devices, and a new one that is seen arriving."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import Visit, violations
from tests.e2e.test_console import PASSWORD, ensure_password, live, sign_in
from tests.harness import Platform, environment

pytestmark = [pytest.mark.e2e, pytest.mark.integration]


@pytest.fixture
def page(visitor: Visit, platform: Platform) -> Page:
    ensure_password(platform)
    page = visitor.open("/workers")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    return page


def name_of(platform: Platform) -> str:
    return str(platform.api.get("/api/v1/workers").json()["items"][0]["name"])


def test_a_device_is_kept_out_of_use_with_a_note_and_used_again(page: Page, platform: Platform) -> None:
    device = f"{name_of(platform)}:1"
    page.get_by_role("link", name=name_of(platform)).click()
    row = page.locator("tr", has_text=device)
    row.get_by_role("button", name=f"Cordon {device}").click()
    page.get_by_role("dialog").get_by_label("Note").fill("fan is loud")
    page.get_by_role("dialog").get_by_role("button", name="Cordon").click()
    expect(row).to_contain_text("Cordoned")
    expect(row).to_contain_text("fan is loud")
    row.get_by_role("button", name=f"Use again {device}").click()
    expect(row).not_to_contain_text("Cordoned")


def test_draining_names_what_goes_on_and_can_be_taken_back(page: Page, platform: Platform) -> None:
    platform.deploy("stays-there", backend="echo")
    platform.wait_ready("stays-there")
    page.get_by_role("link", name=name_of(platform)).click()
    expect(page.get_by_label("Instances here")).to_contain_text("stays-there")
    page.get_by_role("button", name="Drain").click()
    expect(page.get_by_role("dialog")).to_contain_text("stays-there")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Drain").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain").click()
    expect(page.get_by_text("Drained", exact=True)).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("Drained", exact=True)).to_have_count(0)


def test_what_cannot_be_deleted_says_why_where_it_was_tried(page: Page, platform: Platform) -> None:
    platform.deploy("in-the-way", backend="echo")
    platform.wait_ready("in-the-way")
    page.get_by_role("link", name=name_of(platform)).click()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("in-the-way")
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name=name_of(platform))).to_be_visible()


def test_the_grid_and_the_table_show_the_same_devices_and_the_address_keeps_the_view(page: Page) -> None:
    page.get_by_label("View").select_option("grid")
    expect(page).to_have_url(re.compile("view=grid"))
    grid = page.get_by_label(re.compile("1 workers, 2 devices"))
    grid.first.press("ArrowRight")
    expect(page.get_by_role("status").filter(has_text="910B3")).to_contain_text("Healthy")
    page.get_by_label("Shown").select_option("claimed")
    expect(page).to_have_url(re.compile("show=claimed"))
    page.reload()
    expect(page.get_by_label("Shown")).to_have_value("claimed")
    page.get_by_label("View").select_option("table")
    expect(page.locator("tr[data-device]")).to_have_count(2)
    page.get_by_label(re.compile("Filter")).fill("no such chip")
    expect(page.get_by_text("No worker matches.")).to_be_visible()


def test_a_new_worker_is_seen_arriving_by_the_line_that_the_page_gives(
    page: Page, platform: Platform, tmp_path: Path
) -> None:
    page.get_by_role("link", name="Add a worker").click()
    page.get_by_role("button", name="Make the line").click()
    line = page.get_by_label("Paste this on the new machine").locator("pre").first.inner_text()
    expect(page.locator('[data-step="ready"]')).to_have_attribute("data-progress", "waiting")
    program, *arguments = shlex.split(line)
    assert program == "gpustack-lite"
    more = ["--data-dir", str(tmp_path / "w2"), "--name", "second", "--simulate", "8x910B3-64G"]
    command = [sys.executable, "-m", "gpustack_lite.cli", *arguments, *more]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
        try:
            expect(page.locator('[data-step="ready"]')).to_have_attribute("data-progress", "done")
            expect(page.locator('[data-step="devices"]')).to_contain_text("8 × 910B3")
            page.get_by_role("link", name="Open second").click()
            expect(page.get_by_role("button", name=re.compile("Cordon second:"))).to_have_count(8)
        finally:
            worker.terminate()
            worker.wait(30)
            platform.api.delete("/api/v1/workers/second", params={"force": True}).raise_for_status()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, platform: Platform, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    name = name_of(platform)
    for path in ("", "?view=grid", "?view=table", f"/{name}", "/add"):
        page.goto(f"{platform.url}/workers{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert violations(page) == []
