"""Where a worker finds its server, and what it does not do to get there."""

from pathlib import Path

import httpx
import pytest

from gpustack_lite.errors import Refusal
from worker.link import refusal_of, retry_after, server_address


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9090", "http://localhost:9090/", "http://[::1]:9090", "http://127.9.9.9"]
)
def test_loopback_is_fine(url: str) -> None:
    assert server_address(None, url).url == url.rstrip("/")


@pytest.mark.parametrize(
    "url", ["http://10.0.0.7:9090", "http://server:9090", "http://169.254.169.254", "http://[fe80::1]"]
)
def test_plain_http_to_another_machine_is_refused(url: str) -> None:
    with pytest.raises(Refusal) as caught:
        server_address(None, url)
    assert caught.value.code == "server_needs_tls"


@pytest.mark.parametrize("url", [None, "", "server:9090", "ftp://127.0.0.1", "http://"])
def test_what_is_no_address_is_refused(url: str | None) -> None:
    with pytest.raises(Refusal) as caught:
        server_address(None, url)
    assert caught.value.code == "bad_server_url"


def test_a_socket_wins_and_credentials_in_a_url_are_dropped() -> None:
    assert server_address(Path("/x/server.sock"), None).socket == Path("/x/server.sock")
    assert server_address(None, "http://u:p@127.0.0.1:9090").url == "http://127.0.0.1:9090"


def test_retries_slow_down() -> None:
    assert [retry_after(None), retry_after(0.2), retry_after(4.0), retry_after(5.0)] == [0.2, 0.4, 5.0, 5.0]


def test_a_known_refusal_keeps_its_sentence() -> None:
    body = {"error": {"message": "?", "code": "not_found", "params": {"noun": "ticket", "name": "x"}}}
    refusal = refusal_of(httpx.Response(404, json=body), "here")
    assert (refusal.code, refusal.status, refusal.params) == ("not_found", 404, {"noun": "ticket", "name": "x"})


@pytest.mark.parametrize("content", [b"", b"[]", b"<html>", b'{"error": null}', b'{"error": {"code": "no-such-code"}}'])
def test_whatever_else_is_answered_is_one_sentence_too(content: bytes) -> None:
    assert refusal_of(httpx.Response(403, content=content), "here").code == "server_refused"
