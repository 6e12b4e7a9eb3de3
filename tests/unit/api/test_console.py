import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from gpustack_lite.api.console import accepts_gzip
from tests.fakes.management import Api, running

INDEX = "<!doctype html><title>console</title>"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    root = tmp_path / "ui"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text(INDEX)
    (root / "assets" / "index-abc.js").write_text("let a")
    (root / "assets" / "index-abc.js.gz").write_bytes(gzip.compress(b"let a"))
    (root / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path / "secret")
    return root


@pytest.fixture
async def served(tmp_path: Path, template: Path, built: Path) -> AsyncIterator[Api]:
    async with running(tmp_path, template, built) as api:
        yield api


@pytest.fixture
async def browser(served: Api) -> AsyncIterator[httpx.AsyncClient]:
    async with served.client() as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/models", "/models/org/name", "/workers?tab=1", "/apis", "/link"]
)
async def test_the_addresses_that_the_console_makes_up_are_its_first_page(
    browser: httpx.AsyncClient, path: str
) -> None:
    answer = await browser.get(path)
    assert (answer.status_code, answer.text) == (200, INDEX)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(("path", "up"), [("/", "./"), ("/models", "./"), ("/models/org/name", "./../../")])
async def test_the_files_of_a_page_are_found_from_wherever_it_is_shown(
    browser: httpx.AsyncClient, built: Path, path: str, up: str
) -> None:
    (built / "index.html").write_text('<script src="./assets/index-abc.js"></script>')
    assert (await browser.get(path)).text == f'<script src="{up}assets/index-abc.js"></script>'


async def test_nothing_of_another_host_and_no_inline_script_may_run(browser: httpx.AsyncClient) -> None:
    policy = (await browser.get("/")).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    for part in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "object-src 'none'"):
        assert part in policy
    assert "script-src" not in policy
    assert "http" not in policy


async def test_assets_are_kept_for_ever_and_come_compressed_to_those_who_can_read_it(
    browser: httpx.AsyncClient,
) -> None:
    plain = await browser.get("/assets/index-abc.js", headers={"accept-encoding": "identity"})
    small = await browser.get("/assets/index-abc.js", headers={"accept-encoding": "gzip, br"})
    assert (plain.text, small.text) == ("let a", "let a")
    assert "content-encoding" not in plain.headers
    assert small.headers["content-encoding"] == "gzip"
    for answer in (plain, small):
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/gone.js",
        "/assets/%2e%2e/%2e%2e/secret",
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/%252e%252e/secret",
        "/..\\secret",
        "/secret",
        "/link",
        "/assets/index-abc.js%00",
    ],
)
async def test_nothing_beside_the_console_is_ever_read(browser: httpx.AsyncClient, path: str) -> None:
    answer = await browser.get(path)
    assert "secret" not in answer.text.replace("/secret", "").replace("\\secret", "")
    assert answer.text == INDEX or answer.status_code in {400, 404}


@pytest.mark.parametrize("path", ["/api/nowhere", "/v1/models", "/v2/rerank", "/v1-openai/x", "/api"])
async def test_an_unknown_path_of_an_api_is_no_page(browser: httpx.AsyncClient, path: str) -> None:
    answer = await browser.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_such_path")


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/debug/pprof", "/slots"])
async def test_where_other_servers_talk_to_anybody_there_is_not_even_a_page(
    browser: httpx.AsyncClient, path: str
) -> None:
    """E01."""
    answer = await browser.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_such_path")


async def test_a_console_that_is_built_again_is_served_without_a_restart(
    browser: httpx.AsyncClient, built: Path
) -> None:
    await browser.get("/")
    (built / "new.txt").write_text("new")
    (built / "index.html").unlink()
    (built / "index.html").write_text("second")
    assert (await browser.get("/")).text == "second"
    assert (await browser.get("/new.txt")).text == "new"


async def test_without_a_console_one_is_told_how_to_build_it(api: Api) -> None:
    async with api.client() as client:
        answer = await client.get("/")
        assert (answer.status_code, (await client.get("/models")).status_code) == (200, 404)
    assert "npm run build" in answer.text


@pytest.mark.parametrize(
    ("header", "accepts"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("gzip;q=0", False), ("br", False), ("", False), ("xgzip", False)],
)
def test_gzip_is_sent_to_those_who_name_it(header: str, accepts: bool) -> None:
    assert accepts_gzip(header) is accepts
