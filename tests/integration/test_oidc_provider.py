"""Signing in through a provider that somebody else wrote, over real sockets, with the gateway between."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.harness import Platform, until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
SECRET = "canary-client-secret-71c2"
PROVIDER = """
from oidc_provider_mock import User, run_server_in_thread
import sys
ada = User(sub="7", claims={"preferred_username": "ada", "groups": ["operators", "research"]})
with run_server_in_thread(port=0, require_nonce=True, user_claims=[ada]) as server:
    print(server.server_port, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    command = [sys.executable, "-W", "ignore", "-c", PROVIDER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://localhost:{int(process.stdout.readline())}"
        process.stdin.close()


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, issuer: str) -> Iterator[Platform]:
    given = {
        "GPUSTACK_LITE_OIDC_ISSUER": issuer,
        "GPUSTACK_LITE_OIDC_CLIENT_ID": "gpustack",
        "GPUSTACK_LITE_OIDC_CLIENT_SECRET": SECRET,
        "GPUSTACK_LITE_OIDC_ROLES": '{"operators": "admin"}',
        "GPUSTACK_LITE_OIDC_GROUPS": '{"research": "nlp"}',
    }
    with Platform(tmp_path_factory.mktemp("oidc"), env=given) as started:
        yield started


def test_somebody_signs_in_at_the_provider_and_is_here_with_role_and_group(platform: Platform) -> None:
    with httpx.Client(base_url=platform.url, trust_env=False, timeout=60) as browser:
        assert browser.get("/api/v1/auth/methods").json() == {"password": True, "oidc": True}
        started = browser.get("/api/v1/auth/oidc/start")
        assert started.status_code == 303, started.text
        consent = browser.post(started.headers["location"], data={"sub": "7"})
        cross_site = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        back = browser.get(consent.headers["location"], headers=cross_site)
        assert (back.status_code, back.headers["location"]) == (303, "/"), back.text
        me = browser.get("/api/v1/auth/me").json()
        assert (me["username"], me["role"], me["source"]) == ("ada", "admin", "oidc")
        assert browser.get("/api/v1/groups/nlp").json()["members"] == ["ada"]
        assert browser.get("/v1/models").status_code == 200
        again = browser.get(consent.headers["location"], headers=cross_site)
        assert again.headers["x-error-code"] == "oidc_state"
    _is_nowhere(platform, SECRET, httpx.URL(consent.headers["location"]).params["code"])


def _is_nowhere(platform: Platform, *secrets: str) -> None:
    """In no log and no file, and in the environment of the server alone."""
    for path in (each for each in platform.data_dir.rglob("*") if each.is_file()):
        content = path.read_bytes()
        assert [secret for secret in secrets if secret.encode() in content] == [], path
    for role in ("gateway", "worker"):
        until(lambda role=role: platform.pid(role), 30)
        assert SECRET.encode() not in Path(f"/proc/{platform.pid(role)}/environ").read_bytes()
