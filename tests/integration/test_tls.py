"""TLS at the public door: the whole platform with a certificate that is renewed while a connection lives."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from tests.harness import Platform, cli, until

pytestmark = pytest.mark.integration


@dataclass(frozen=True, slots=True)
class Files:
    folder: Path

    def renew(self) -> trustme.CA:
        """A certificate of a new authority in place of the last one, as a renewal tool would write it."""
        authority = trustme.CA()
        made = authority.issue_cert("127.0.0.1", "localhost")
        for name, pem in (("cert.pem", made.cert_chain_pems[0]), ("key.pem", made.private_key_pem)):
            beside = self.folder / f"{name}.new"
            pem.write_to_path(beside)
            beside.rename(self.folder / name)
        return authority


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@dataclass(frozen=True, slots=True)
class Door:
    port: int
    files: Files

    def connect(self, authority: trustme.CA) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=trusting(authority))

    def is_shown(self, authority: trustme.CA) -> bool:
        """Whether a client that trusts only this authority gets an answer."""
        connection = self.connect(authority)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except ssl.SSLCertVerificationError:
            return False
        finally:
            connection.close()


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("tls")
    files, port = Files(folder), free_port()
    files.renew()
    given = ("--tls-cert", str(folder / "cert.pem"), "--tls-key", str(folder / "key.pem"), "--tls-port", str(port))
    with Platform(folder, arguments=(*given, "--no-worker")):
        yield Door(port, files)


def test_a_renewed_certificate_is_shown_without_a_restart_and_living_connections_stay(door: Door) -> None:
    first = door.files.renew()
    until(lambda: door.is_shown(first), 30)
    with_keep_alive = door.connect(first)
    with_keep_alive.request("GET", "/version")
    assert "version" in json.load(with_keep_alive.getresponse())
    renewed = door.files.renew()
    until(lambda: door.is_shown(renewed) and not door.is_shown(first), 30)
    with_keep_alive.request("GET", "/healthz")
    assert with_keep_alive.getresponse().status == 200
    with_keep_alive.close()


def test_plain_http_on_the_tls_port_gets_no_answer_and_hurts_nobody(door: Door) -> None:
    plain = http.client.HTTPConnection("127.0.0.1", door.port, timeout=30)
    plain.request("GET", "/healthz")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        plain.getresponse()
    plain.close()
    current = door.files.renew()
    until(lambda: door.is_shown(current), 30)


def test_a_start_with_half_of_the_files_says_which_option_is_missing(tmp_path: Path) -> None:
    done = cli("start", "--data-dir", str(tmp_path / "data"), "--tls-cert", "cert.pem", "--port", "0")
    assert done.returncode != 0
    assert "--tls-key is missing" in done.stderr
    assert "Traceback" not in done.stderr
