"""The order of settings, and what a wrong one is told."""

from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.settings import load


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUSTACK_LITE_PORT", raising=False)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("port: 7001\ndrain-seconds: 5\n", encoding="utf-8")
    return path


def test_the_default_listens_on_loopback_only() -> None:
    assert (load().host, load().port) == ("127.0.0.1", 9090)


def test_the_file_beats_the_default(config: Path) -> None:
    assert (load(config).port, load(config).drain_seconds) == (7001, 5.0)


def test_the_environment_beats_the_file_and_the_command_line_beats_both(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUSTACK_LITE_PORT", "7002")
    assert load(config).port == 7002
    assert load(config, port=7003).port == 7003


def test_a_key_that_is_no_setting_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("prot: 9090\n", encoding="utf-8")
    with pytest.raises(Refusal) as refused:
        load(path)
    assert (refused.value.code, refused.value.params["key"]) == ("config_unknown_key", "prot")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: [", b"- 1\n"], ids=["not UTF-8", "not YAML", "no mapping"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(Refusal, match="config_unreadable"):
        load(path)


@pytest.mark.parametrize("port", [-1, 65536, "x"])
def test_a_value_out_of_range_names_the_setting(port: object) -> None:
    with pytest.raises(Refusal) as refused:
        load(port=port)
    assert (refused.value.code, refused.value.params["name"]) == ("bad_setting", "port")
