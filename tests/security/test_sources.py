"""E05 and E07: neither a source nor a name of a model makes the platform fetch, read or write where it should not."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.harness import Platform

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
SECRET = "canary-that-nobody-echoes"


@contextmanager
def canary() -> Iterator[tuple[int, list[bytes]]]:
    """A server on loopback that answers with a secret, and what came to it."""
    hits: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            hits.append(self.request.recv(4096))
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n" + SECRET.encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1], hits
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def user(platform: Platform) -> Iterator[httpx.Client]:
    """Somebody who is no administrator, by a session."""
    body = {"username": "eve", "password": "a-long-password-of-eve", "must_change_password": False}
    assert platform.api.post("/api/v1/users", json=body).status_code == 201
    with httpx.Client(base_url=platform.url, trust_env=False, timeout=30) as client:
        signed_in = client.post("/api/v1/auth/login", json={"username": "eve", "password": body["password"]})
        client.cookies.clear()
        client.headers["Authorization"] = f"Bearer {signed_in.json()['token']}"
        yield client


ADDRESSES = (
    *("http://127.0.0.1:{port}/m.gguf", "https://127.0.0.1:{port}/m.gguf", "http://localhost:{port}/m.gguf"),
    *("http://[::1]:{port}/m.gguf", "http://[::ffff:127.0.0.1]:{port}/m.gguf", "http://2130706433:{port}/m.gguf"),
    *("http://0x7f000001:{port}/m.gguf", "http://0177.0.0.1:{port}/m.gguf", "http://127.1:{port}/m.gguf"),
    *("http://user@127.0.0.1:{port}/m.gguf", "http://huggingface.co@127.0.0.1:{port}/m.gguf"),
    *("http://127.0.0.1:{port}\\@huggingface.co/m.gguf", "http://huggingface.co\\@127.0.0.1:{port}/m.gguf"),
    *("http://169.254.169.254/m.gguf", "https://169.254.169.254/latest/m.gguf", "ftp://127.0.0.1:{port}/m.gguf"),
    *("file:///etc/passwd", "file://127.0.0.1/etc/passwd", "gopher://127.0.0.1:{port}/m.gguf"),
    *("huggingface:../../x/y", "huggingface:http://127.0.0.1:{port}/x", "huggingface:127.0.0.1:{port}/x"),
    *("modelscope:x/y/../../z", "HTTP://127.0.0.1:{port}/m.gguf", "http://127.0.0.1:{port}/m.gguf?x=.gguf"),
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_source_makes_us_ask_an_address_of_somebody_s_choice(
    platform: Platform, user: httpx.Client, address: str
) -> None:
    with canary() as (port, hits):
        body = {"name": "fetched", "source": address.format(port=port)}
        for path in ("/api/v1/models", "/api/v1/evaluate"):
            for client in (platform.api, user):
                answer = client.post(path, json=body)
                assert 400 <= answer.status_code < 500, (path, answer.status_code, answer.text)
                assert SECRET not in answer.text
        assert hits == []
    assert platform.api.get("/api/v1/models/fetched").status_code == 404


@pytest.mark.parametrize(
    "source", ["/etc", "/etc/passwd", "/", "/proc/self/environ", "../../../etc/passwd", "/root/.ssh"]
)
def test_a_path_outside_of_the_roots_is_refused_and_nothing_of_it_is_told(platform: Platform, source: str) -> None:
    answer = platform.api.post("/api/v1/models", json={"name": "outside", "source": source, "backend": "llama_cpp"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {"path_outside_roots", "source_not_absolute"}
    assert "root:" not in answer.text


def test_a_link_that_leads_out_of_a_root_is_refused_and_what_it_leads_to_stays(
    platform: Platform, models: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.gguf"
    secret.write_text(SECRET)
    (models / "out.gguf").symlink_to(secret)
    (models / "folder").symlink_to(tmp_path)
    for source in (models / "out.gguf", models / "folder" / "secret.gguf", models / ".." / secret.parent.name):
        body = {"name": "linked", "source": str(source), "backend": "llama_cpp"}
        answer = platform.api.post("/api/v1/models", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "path_outside_roots")
    assert secret.read_text() == SECRET


@pytest.mark.parametrize(
    "name", ["../../admin", "..", "/etc/x", "a/../b", "a\\..\\b", "a\0b", "a\u202eb", "~root", ".", "a//b"]
)
def test_a_name_that_is_a_path_makes_nothing_anywhere(platform: Platform, name: str) -> None:
    before = {path for path in platform.data_dir.parent.rglob("*") if path.is_dir()}
    answer = platform.api.post("/api/v1/models", json={"name": name, "source": "none:", "backend": "echo"})
    if answer.status_code == 201:
        assert platform.api.delete(f"/api/v1/models/{answer.json()['id']}").status_code == 204
    made = {path for path in platform.data_dir.parent.rglob("*") if path.is_dir()} - before
    assert [path for path in made if not path.is_relative_to(platform.data_dir / "worker")] == []
    assert not {"..", "."} & set(name.split("/")) or answer.status_code == 400


@pytest.mark.parametrize("reference", ["1/../2", "..%2f..%2fetc", "%2e%2e", "../../etc/passwd", "/", "1%00"])
def test_what_is_read_or_deleted_is_named_by_number_alone(platform: Platform, reference: str) -> None:
    for method, path in (("GET", "instances/{}/logs"), ("DELETE", "files/{}"), ("DELETE", "instances/{}")):
        target = f"/api/v1/{path.format(reference)}".encode()
        answer = platform.api.request(method, httpx.URL(platform.url).copy_with(raw_path=target))
        assert 400 <= answer.status_code < 500, (method, target, answer.status_code)
