"""Deploying from the console: the fit panel, the real engine, and what one does with a deployment afterwards."""

import os
import re
import shlex
import signal
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Visit, violations
from tests.e2e.test_console import PASSWORD, ensure_password, live, row, sign_in
from tests.fakes.smollm import smollm_path
from tests.harness import Platform, cli

pytestmark = [pytest.mark.e2e, pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def page(visitor: Visit, platform: Platform) -> Page:
    ensure_password(platform)
    page = visitor.open("/models")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    page.get_by_role("link", name="Deploy a model").click()
    return page


def fit(page: Page) -> Locator:
    return page.get_by_label("Does it fit?")


def command(page: Page) -> str:
    return page.get_by_label("The same as a command").locator("pre").inner_text()


def test_a_real_model_is_deployed_broken_and_deleted_from_the_console(page: Page, platform: Platform) -> None:
    page.get_by_label(re.compile("^Path")).fill(str(smollm_path()))
    expect(fit(page)).to_contain_text("It fits")
    expect(fit(page)).to_contain_text("weights")
    expect(fit(page)).to_contain_text("llama_cpp")
    page.get_by_label(re.compile("^Name")).fill("from-the-console")
    for option, value in (("max-model-len", "512"), ("threads", "1")):
        page.get_by_label("Option", exact=True).fill(option)
        page.get_by_role("button", name="Add an option").click()
        page.get_by_label(re.compile(f"^{option}")).fill(value)
    expect(fit(page)).to_contain_text("512 tokens")
    assert "--option max-model-len=512" in command(page)
    page.get_by_role("button", name="Deploy", exact=True).click()
    expect(page.get_by_role("heading", name="from-the-console")).to_be_visible()
    expect(page.locator('section[data-state="ready"]')).to_be_visible(timeout=200_000)
    answer = platform.chat("from-the-console", "Say hello.", max_tokens=8)
    assert answer["usage"]["completion_tokens"] > 0

    (instance,) = platform.api.get("/api/v1/instances", params={"model": "from-the-console"}).json()["items"]
    os.kill(instance["pid"], signal.SIGKILL)
    expect(page.locator("ol.steps")).to_contain_text(re.compile("SIGKILL|signal 9|killed", re.IGNORECASE))

    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("replica")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Models", exact=True)).to_be_visible()
    expect(row(page, "from-the-console")).to_have_count(0)


def test_scaling_stopping_and_starting_say_what_they_do(page: Page, platform: Platform) -> None:
    platform.deploy("elastic", backend="echo")
    page.goto(f"{platform.url}/models/elastic")
    expect(page.locator('section[data-state="ready"]')).to_be_visible()
    page.get_by_role("button", name="Scale").click()
    page.get_by_role("dialog").get_by_label("Replicas").fill("2")
    page.get_by_role("dialog").get_by_role("button", name="Scale").click()
    expect(page.get_by_text("2 of 2 replicas ready")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 replicas")
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.locator('section[data-state="stopped"]')).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page.locator('section[data-state="ready"]')).to_be_visible()


def test_what_does_not_fit_says_why_and_what_would_help(page: Page) -> None:
    page.get_by_label(re.compile("^Path")).fill("/nowhere")
    page.get_by_role("combobox", name=re.compile("^Engine")).select_option("echo")
    for option, value in (("device-count", "1"), ("bytes-per-device", str(200 * 1024**3))):
        page.get_by_label("Option", exact=True).fill(option)
        page.get_by_role("button", name="Add an option").click()
        page.get_by_label(re.compile(f"^{option}")).fill(value)
    expect(fit(page)).to_contain_text("It does not fit")
    expect(fit(page)).to_contain_text("200 GiB")
    expect(fit(page)).to_contain_text("What would help")


def test_a_refusal_stands_in_the_form_and_nothing_typed_is_lost(page: Page, platform: Platform) -> None:
    platform.deploy("taken", backend="echo")
    page.get_by_label(re.compile("^Path")).fill("/tmp/some.gguf")  # a name, no file
    page.get_by_role("combobox", name=re.compile("^Engine")).select_option("echo")
    page.get_by_label(re.compile("^Name")).fill("taken")
    page.get_by_role("button", name="Deploy", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("taken")
    expect(page.get_by_label(re.compile("^Path"))).to_have_value("/tmp/some.gguf")
    page.get_by_label(re.compile("^Name")).fill("not-taken")
    page.get_by_role("button", name="Deploy", exact=True).click()
    expect(page.get_by_role("heading", name="not-taken")).to_be_visible()


def test_devices_picked_by_hand_and_the_command_that_does_the_same(page: Page, platform: Platform) -> None:
    page.get_by_label(re.compile("^Path")).fill("/nowhere")
    page.get_by_role("combobox", name=re.compile("^Engine")).select_option("echo")
    page.get_by_label("Only on these devices").check()
    page.locator(".pick").nth(1).click()
    page.get_by_label(re.compile("^Name")).fill("by-hand")
    expect(page.get_by_label("The same as a command")).to_contain_text("--device")
    _, *arguments = shlex.split(command(page).replace("\\\n", " "))
    done = cli(*arguments, "--option", "device-count=1", env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir)})
    assert done.returncode == 0, done.stderr
    (instance,) = platform.api.get("/api/v1/instances", params={"model": "by-hand"}).json()["items"]
    assert [device.endswith(":1") for device in instance["devices"]] == [True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    page.locator("input[aria-describedby=deploy-source]").fill(str(smollm_path()))
    expect(page.locator("[data-fits=true]")).to_be_visible()
    page.locator(".deploy input[name=where]").nth(1).check()
    page.locator("details summary").click()
    assert violations(page) == []
