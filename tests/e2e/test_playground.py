"""Trying models out from the console: the real llama.cpp is measured, a scripted engine has the other modes."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Visit, violations
from tests.e2e.test_console import PASSWORD, ensure_password, live, sign_in
from tests.fakes.modes_engine import png, tone
from tests.fakes.smollm import smollm_path
from tests.harness import ROOT, Platform, environment

pytestmark = [pytest.mark.e2e, pytest.mark.integration, pytest.mark.timeout(400)]
ENGINE = ROOT / "tests" / "fakes" / "modes_engine.py"
SERVED = {
    "talks": "/v1/chat/completions",
    "embeds": "/v1/embeddings",
    "ranks": "/v1/rerank",
    "draws": "/v1/images/generations",
    "hears": "/v1/audio/transcriptions",
    "speaks": "/v1/audio/speech",
}
TOOL = '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]'


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform")) as platform:
        options = {"max-model-len": 512, "threads": 1}
        platform.deploy("smollm", source=str(smollm_path()), options=options)
        platform.deploy("slow", backend="echo", options={"chunk-ms": 600_000})
        command = [sys.executable, str(ENGINE), "--port", "{port}"]
        for name, path in SERVED.items():
            spec = {"name": f"mode-{name}", "command": command, "claim": {"ram_bytes": 50_000_000}, "paths": [path]}
            platform.create_backend({**spec, "reasoning": "reasoning_content"} if name == "talks" else spec)
            platform.deploy(name, backend=f"mode-{name}")
        for name in (*SERVED, "slow"):
            platform.wait_ready(name)
        platform.wait_ready("smollm", seconds=240)
        ensure_password(platform)
        yield platform


@pytest.fixture
def page(visitor: Visit) -> Page:
    page = visitor.open("/playground")
    sign_in(page, PASSWORD)
    expect(live(page)).to_have_text("Live")
    return page


def at(page: Page, platform: Platform, **search: object) -> None:
    page.goto(f"{platform.url}/playground?{urlencode(search)}")


def say(page: Page, text: str) -> None:
    page.get_by_label("Prompt", exact=True).fill(text)
    page.get_by_label("Prompt", exact=True).press("Enter")


def figure(strip: Locator, name: str) -> Locator:
    return strip.locator("div").filter(has=strip.page.get_by_text(name, exact=True)).locator("dd")


def code(page: Page) -> str:
    return page.locator("#code pre").inner_text()


def test_a_real_model_chats_and_the_code_on_the_page_asks_the_same(page: Page, platform: Platform) -> None:
    page.get_by_label("Model", exact=True).select_option("smollm")
    page.get_by_label("Max. tokens").fill("8")
    page.get_by_label("Temperature").fill("0")
    page.get_by_label("System prompt").fill("Answer briefly.")
    say(page, "What is the capital of France?")
    strip = page.locator(".figures[data-over=true]")
    expect(figure(strip, "TTFT")).to_have_text(re.compile(r"^[\d.]+ m?s$"), timeout=120_000)
    expect(figure(strip, "TPOT")).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    expect(figure(strip, "Tokens/s")).to_have_text(re.compile(r"^[\d.]+$"))
    expect(figure(strip, "Tokens")).to_have_text(re.compile(r"^[1-8] \d+ in the prompt$"))
    assert re.search(r"model=smollm.*max_tokens=8|max_tokens=8.*model=smollm", page.url), page.url
    assert "France" not in page.url

    page.get_by_role("button", name="View code").click()
    page.get_by_role("tab", name="Python").click()
    expect(page.locator("#code pre")).to_contain_text("from openai import OpenAI")
    shown = environment(GPUSTACK_LITE_API_KEY=platform.key())
    done = subprocess.run(
        [sys.executable, "-c", code(page)], env=shown, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()

    platform.until(lambda: [row["key"] for row in platform.requests("smollm")[:2]] == ["test", None], seconds=30)
    by_code, by_page = platform.requests("smollm")[:2]
    assert by_page["user"] == "admin"
    assert by_page["prompt_tokens"] == by_code["prompt_tokens"]


def test_six_panes_answer_one_prompt_with_figures_of_each_and_of_all(page: Page) -> None:
    page.get_by_role("tab", name="Compare").click()
    for _ in range(4):
        page.get_by_role("button", name="Add a pane").click()
    expect(page.get_by_role("button", name="Add a pane")).to_be_disabled()
    for number, model in enumerate(("smollm", "smollm", "smollm", "talks", "talks", "smollm"), start=1):
        page.get_by_label(f"Pane {number}", exact=True).get_by_role("combobox").select_option(model)
    page.get_by_text("Parameters", exact=True).click()
    page.get_by_label("Max. tokens").fill("8")
    page.get_by_label("Temperature").fill("0")
    say(page, "Name three rivers.")
    together = page.get_by_role("region", name="Together").locator(".figures[data-over=true]")
    expect(figure(together, "Tokens/s")).to_have_text(re.compile(r"^[\d.]+$"), timeout=180_000)
    tokens = []
    for number in range(1, 7):
        strip = page.locator(f"[data-pane='{number}'] .figures")
        for name in ("TTFT", "TPOT"):
            expect(figure(strip, name)).to_have_text(re.compile(r"^(< )?[\d.]+ m?s$"))
        expect(figure(strip, "Tokens/s")).to_have_text(re.compile(r"^[\d.]+$"))
        tokens.append(int(figure(strip, "Tokens").inner_text().split()[0]))
    assert int(figure(together, "Tokens").inner_text()) == sum(tokens)
    assert "panes=" in page.url
    assert "rivers" not in page.url
    page.reload()
    expect(page.locator("[data-pane]")).to_have_count(6)
    expect(page.locator("[data-pane='4'] select")).to_have_value("talks")


def test_an_answer_is_shown_as_markdown_and_nothing_of_it_acts_by_itself(page: Page, platform: Platform) -> None:
    at(page, platform, model="talks")
    say(page, "Hello")
    answer = page.locator(".markdown")
    expect(answer.locator("strong")).to_have_text("a list")
    expect(answer.locator(".code-keyword").first).to_have_text("def")
    expect(answer).to_contain_text("<img src=x onerror=alert(1)>")
    expect(answer.locator("img, a")).to_have_count(0)
    answer.get_by_role("button", name="a page").click()
    link = answer.get_by_role("link")
    expect(link).to_have_text("https://elsewhere.example/page")
    expect(link).to_have_attribute("rel", re.compile("noopener"))
    expect(page.get_by_text("They want Markdown.")).to_be_hidden()
    page.get_by_text("Reasoning", exact=True).click()
    expect(page.get_by_text("They want Markdown.")).to_be_visible()


def test_pictures_go_along_and_a_tool_gets_its_result_by_hand(page: Page, platform: Platform, tmp_path: Path) -> None:
    at(page, platform, model="talks")
    picture = tmp_path / "a.png"
    picture.write_bytes(png(40, 30))
    page.get_by_test_id("pictures").set_input_files([picture, picture])
    expect(page.get_by_role("img", name=re.compile("Picture"))).to_have_count(2)
    say(page, "What is this?")
    expect(page.get_by_text("I see 2.")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Tools").fill("nonsense")
    expect(page.get_by_text("This is not a list of tool definitions in JSON.")).to_be_visible()
    page.get_by_label("Tools").fill(TOOL)
    say(page, "Weather?")
    expect(page.get_by_label("Calls weather")).to_contain_text('{"city": "Berlin"}')
    page.get_by_label("Result of weather").fill("rain")
    page.get_by_role("button", name="Send the results").click()
    expect(page.get_by_text("The tool says: rain")).to_be_visible()


def test_an_answer_is_stopped_and_its_engine_with_it(page: Page, platform: Platform) -> None:
    at(page, platform, model="slow")
    say(page, "one two three")
    expect(page.locator(".markdown")).to_have_text("one")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped here by you.")).to_be_visible()
    platform.until(lambda: platform.metric("gpustack_lite_requests_in_flight") == 0, seconds=30)


def test_a_refusal_is_a_sentence_with_a_remedy(page: Page, platform: Platform, visitor: Visit) -> None:
    at(page, platform, model="gone")
    say(page, "Hello")
    expect(page.get_by_role("alert")).to_contain_text("The model gone does not exist")
    expect(page.get_by_role("alert")).to_contain_text("Choose another model")
    visitor.complaints = [said for said in visitor.complaints if "404" not in said]  # Chromium's own note of it


def test_texts_become_a_map_and_documents_a_ranking(page: Page, platform: Platform) -> None:
    at(page, platform, mode="embeddings")
    page.get_by_label("Texts").first.fill("a cat\na cat sleeps\nshares fell")
    page.get_by_role("button", name="Embed").click()
    expect(page.get_by_role("img", name="3 texts in two dimensions: near ones are alike")).to_be_visible()
    expect(page.locator("tbody tr").first).to_contain_text("2 · a cat sleeps")
    page.get_by_role("tab", name="Rerank").click()
    page.get_by_label("Query").fill("a cat sleeps")
    page.get_by_label("Documents").first.fill("shares fell\na cat sleeps\na cat")
    page.get_by_role("button", name="Rank").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    lines = [row.get_attribute("data-line") for row in page.locator("tbody tr").all()]
    assert lines == ["2", "3", "1"]


def test_words_become_pictures_and_sound_and_sound_words(page: Page, platform: Platform, tmp_path: Path) -> None:
    at(page, platform, mode="image", code="curl")
    page.get_by_label("Size").select_option("256x256")
    page.get_by_role("button", name="Draw").click()
    drawn = page.get_by_role("img", name=re.compile("Picture 1"))
    expect(drawn).to_be_visible()
    assert drawn.evaluate("(picture) => picture.naturalWidth") == 256
    assert '"size": "256x256"' in code(page)
    page.get_by_role("tab", name="Audio").click()
    sound = tmp_path / "said.wav"
    sound.write_bytes(tone(3))
    page.get_by_label("Sound file").set_input_files(sound)
    page.get_by_role("button", name="Transcribe").click()
    expect(page.get_by_text(f"{sound.stat().st_size} bytes were said.")).to_be_visible()
    assert "-F 'file=@said.wav'" in code(page)
    page.get_by_label("Direction").select_option("speak")
    page.get_by_label("Text to speak").fill("Hello")
    page.get_by_role("button", name="Speak").click()
    player = page.locator("audio")
    expect(player).to_be_visible()
    expect(player).not_to_have_js_property("readyState", 0)
    assert player.evaluate("(sound) => sound.duration") > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["English", "中文"])
def test_axe_finds_nothing(page: Page, platform: Platform, scheme: Literal["light", "dark"], language: str) -> None:
    page.emulate_media(color_scheme=scheme)
    if language == "中文":
        page.get_by_role("button", name="中文").click()
    at(page, platform, model="talks", code="python")
    page.locator(".composer textarea").fill("Hello")
    page.locator(".composer textarea").press("Enter")
    expect(page.locator(".figures[data-over=true]")).to_be_visible()
    expect(page.locator(".markdown table")).to_be_visible()
    expect(page.locator(".said")).to_have_count(1)
    assert violations(page) == []
    at(page, platform, mode="compare", panes='["talks","talks","talks"]')
    page.locator(".composer textarea").fill("Hello")
    page.locator(".composer textarea").press("Enter")
    expect(page.locator(".figures.is-total[data-over=true]")).to_be_visible()
    assert violations(page) == []
    at(page, platform, mode="embeddings")
    page.locator(".ask .is-main").click()
    expect(page.locator(".embedding-map")).to_be_visible()
    assert violations(page) == []
    for mode, task in (("rerank", ""), ("image", ""), ("audio", "transcribe"), ("audio", "speak")):
        at(page, platform, mode=mode, task=task)
        expect(page.locator(".ask")).to_be_visible()
        assert violations(page) == []
