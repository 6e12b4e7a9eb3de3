"""The first page: first steps that tick themselves, what needs somebody with its reason, what is free, what passes."""

import os
import re
import signal
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
    page = visitor.open("/")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    return page


def gone(platform: Platform, name: str) -> None:
    platform.api.delete(f"/api/v1/models/{name}")
    platform.until(lambda: platform.api.get(f"/api/v1/models/{name}").status_code == 404, 60)


def test_first_steps_tick_themselves_and_are_gone_when_all_are_done(page: Page, platform: Platform) -> None:
    if platform.api.get("/api/v1/requests").json()["total"] == 0:
        expect(page.locator('[data-step="worker"]')).to_have_attribute("data-done", "true")
        expect(page.locator('[data-step="call"]')).to_have_attribute("data-done", "false")
    platform.deploy("first", backend="echo")
    platform.wait_ready("first")
    platform.chat("first", "one two three")
    expect(page.locator(".first-steps")).to_have_count(0, timeout=60_000)
    expect(page.locator(".figures")).to_contain_text("Requests")
    gone(platform, "first")


def test_what_waits_for_a_place_is_told_with_its_reason_and_what_helps(page: Page, platform: Platform) -> None:
    spec = {"name": "big", "command": ["sleep", "{port}"], "claim": {"ram_bytes": 2**45}}
    platform.create_backend(spec)
    platform.deploy("too-large", backend="big")
    matter = page.locator('[data-matter^="model-"]').filter(has_text="too-large")
    expect(matter).to_contain_text("waits for a place", timeout=60_000)
    expect(matter.locator(".sentence").first).not_to_be_empty()
    expect(page.get_by_role("link", name=re.compile("need(s)? attention"))).to_be_visible()
    matter.get_by_role("link", name="too-large").click()
    expect(page.get_by_role("heading", name="too-large")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("need(s)? attention"))).to_be_visible()
    gone(platform, "too-large")
    expect(page.get_by_role("link", name=re.compile("need(s)? attention"))).to_have_count(0, timeout=60_000)


def test_a_silent_worker_is_told_and_is_no_matter_when_it_is_back(page: Page, platform: Platform) -> None:
    worker = platform.pid("worker")
    assert worker is not None
    os.kill(worker, signal.SIGSTOP)
    try:
        matter = page.locator('[data-matter^="worker-"]')
        expect(matter).to_contain_text("not heard from", timeout=90_000)
        expect(matter).to_contain_text("gpustack-lite doctor")
    finally:
        os.kill(worker, signal.SIGCONT)
    expect(matter).to_have_count(0, timeout=90_000)
    expect(page.get_by_text("Nothing needs you.")).to_be_visible(timeout=60_000)


def test_capacity_is_told_by_chip(page: Page) -> None:
    expect(page.locator('[data-chip="910B3"]')).to_contain_text("2 devices")
    expect(page.locator('[data-chip="910B3"]')).to_contain_text("free")
    expect(page.locator('[data-chip="ram"]')).to_contain_text("free")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, platform: Platform, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    expect(page.locator('[data-chip="910B3"]')).to_be_visible()
    assert violations(page) == []
