from pathlib import Path

import pytest

from gpustack_lite.cli.demo import own_command, without_proxy


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_the_line_to_paste_is_plain_where_no_proxy_is_named() -> None:
    assert without_proxy() == ""


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy", "ALL_PROXY"])
def test_the_line_to_paste_goes_past_a_proxy(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "http://proxy:3128")
    assert without_proxy() == "--noproxy 127.0.0.1 "


def test_the_command_to_paste_survives_a_folder_with_spaces() -> None:
    assert own_command(Path("/home/me/my models/data")).startswith("GPUSTACK_LITE_DATA_DIR='/home/me/my models/data' ")
