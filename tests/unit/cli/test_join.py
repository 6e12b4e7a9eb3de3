import io
from pathlib import Path

import pytest

from gpustack_lite.cli.join import checked_url, keep_token, leave_token_out
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://127.0.0.1:9090/", "http://127.0.0.1:9090"),
        ("http://localhost:9090", "http://localhost:9090"),
        ("http://[::1]:9090", "http://[::1]:9090"),
        ("https://gpu.example.com", "https://gpu.example.com"),
    ],
)
def test_a_server_is_joined_on_this_machine_or_encrypted(url: str, kept: str) -> None:
    assert checked_url(url) == kept


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://gpu.example.com:9090", "join_needs_tls"),
        ("http://10.0.0.1", "join_needs_tls"),
        ("http://127.0.0.1.example.com", "join_needs_tls"),
        ("gpu.example.com", "join_url_invalid"),
        ("ftp://127.0.0.1", "join_url_invalid"),
        ("", "join_url_invalid"),
    ],
)
def test_any_other_address_is_refused(url: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        checked_url(url)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["join", "URL", "--token", "secret", "--name", "a"], ["join", "URL", "--name", "a"]),
        (["join", "--token=secret", "URL"], ["join", "URL"]),
        (["join", "URL", "--token"], ["join", "URL"]),
        (["join", "URL"], ["join", "URL"]),
    ],
)
def test_the_token_leaves_the_arguments(arguments: list[str], kept: list[str]) -> None:
    assert leave_token_out(arguments) == kept


@pytest.mark.parametrize(("token", "typed"), [("secret", ""), (" secret\n", ""), ("-", "secret\n")])
def test_a_token_is_kept_in_a_private_file(
    tmp_path: Path, token: str, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    path = keep_token(tmp_path / "data", token, Ports())
    assert path.read_text() == "secret"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_token_is_needed_once(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="join_token_needed"):
        keep_token(tmp_path, None, Ports())
    keep_token(tmp_path, "secret", Ports())
    assert keep_token(tmp_path, None, Ports()).read_text() == "secret"
