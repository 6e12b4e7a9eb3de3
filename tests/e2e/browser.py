"""Debian's Chromium, watched: what a page asks for, what it complains of, and what axe finds in it."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong
EXPECTED = re.compile(r"the server responded with a status of (400|401|409|422)")
"""Chromium itself reports each refused request; being asked who one is, or told why not, is no fault of a page."""


@dataclass
class Visit:
    """One browser profile with nothing in it, and everything that was noticed while it was used."""

    context: BrowserContext
    url: str
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def open(self, path: str = "/") -> Page:
        page = self.context.new_page()
        page.goto(f"{self.url}{path}")
        return page

    def watch(self) -> None:
        self.context.on("console", lambda said: self._note(said.type, said.text))
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.context.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def _note(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and not EXPECTED.search(text):
            self.complaints.append(text)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def visit(browser: Browser, url: str, **options: Any) -> Iterator[Visit]:
    context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 800}, **options)
    context.set_default_timeout(20_000)
    seen = Visit(context, url)
    seen.watch()
    yield seen
    context.close()


def violations(page: Page) -> list[str]:
    """What axe has against the page as it is now, each with where."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{each['id']}: {[node['html'][:120] for node in each['nodes']]}" for each in found]
