"""The console behind a reverse proxy that shows it below a path: docs/reverse-proxy.md."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import visit
from tests.e2e.test_console import PASSWORD, ensure_password, live, row, sign_in
from tests.fakes.reverse_proxy import reverse_proxy
from tests.harness import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.integration]
BEHIND = {"GPUSTACK_LITE_TRUSTED_PROXIES": '["127.0.0.1"]', "GPUSTACK_LITE_BASE_PATH": "/ai"}


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Platform, str]]:
    with (
        Platform(tmp_path_factory.mktemp("behind"), simulate="1x910B3-64G", env=BEHIND) as platform,
        reverse_proxy(platform.url, "/ai", client="203.0.113.9") as address,
    ):
        yield platform, address


def test_the_whole_console_works_below_a_path(browser: Browser, behind: tuple[Platform, str]) -> None:
    platform, address = behind
    ensure_password(platform)
    platform.deploy("org/below", backend="echo")
    with visit(browser, address) as visitor:
        page = visitor.open("/ai/models/org/below?tab=use")
        sign_in(page, PASSWORD)
        expect(page.get_by_role("region", name="Use it")).to_contain_text(f"{address}/ai/v1/chat/completions")
        page.get_by_role("navigation").get_by_role("link").first.click()
        expect(live(page)).to_have_text("Live")
        expect(page).to_have_url(re.compile(f"^{re.escape(address)}/ai/"))
        page.goto(f"{address}/ai/models")
        expect(row(page, "org/below")).to_contain_text("Ready")
        (cookie,) = visitor.context.cookies(f"{address}/ai/")
        assert (cookie["path"], cookie["secure"], cookie["httpOnly"]) == ("/ai/", True, True)
        assert visitor.context.cookies(f"{address}/other/") == []
        assert visitor.complaints == []
        assert visitor.hosts == {address.removeprefix("http://")}
        page.close()


def test_the_address_of_a_session_is_the_clients_and_not_the_proxys(behind: tuple[Platform, str]) -> None:
    platform, address = behind
    ensure_password(platform)
    with httpx.Client(base_url=f"{address}/ai", trust_env=False) as client:
        answer = client.post("/api/v1/auth/login", json={"username": "admin", "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        signed_in = {"Authorization": f"Bearer {answer.json()['token']}"}
        mine = client.get("/api/v1/sessions", headers=signed_in).json()["items"]
        assert {each["address"] for each in mine if each["current"]} == {"203.0.113.9"}
