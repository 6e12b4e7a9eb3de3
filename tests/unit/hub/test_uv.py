from pathlib import Path

import pytest

from gpustack_lite.hub.uv import environment, is_offline_wanted, pip_settings

INDEX = "https://mirror.example/simple"


@pytest.mark.parametrize(
    ("environ", "variable", "value"),
    [
        pytest.param({"PIP_INDEX_URL": INDEX}, "UV_DEFAULT_INDEX", INDEX, id="index"),
        pytest.param({"PIP_EXTRA_INDEX_URL": "a\n b"}, "UV_INDEX", "a b", id="more indexes"),
        pytest.param({"PIP_FIND_LINKS": "/a /b"}, "UV_FIND_LINKS", "/a,/b", id="directories of wheels"),
        pytest.param({"PIP_TRUSTED_HOST": "h"}, "UV_INSECURE_HOST", "h", id="trusted host"),
        pytest.param({"PIP_CERT": "/ca.pem"}, "SSL_CERT_FILE", "/ca.pem", id="certificates"),
        pytest.param({"PIP_PROXY": "http://p:1"}, "ALL_PROXY", "http://p:1", id="proxy"),
        pytest.param({"HTTPS_PROXY": "http://p:1"}, "HTTPS_PROXY", "http://p:1", id="the usual proxy variable"),
    ],
)
def test_what_was_said_to_pip_is_said_to_uv(environ: dict[str, str], variable: str, value: str) -> None:
    assert environment(environ, {})[variable] == value


@pytest.mark.parametrize("said", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_what_was_said_to_uv_itself_wins(said: str) -> None:
    made = environment({said: "theirs", "PIP_INDEX_URL": INDEX}, {"index-url": INDEX})
    assert {name: value for name, value in made.items() if "INDEX" in name and name.startswith("UV_")} == {
        said: "theirs"
    }


def test_the_environment_wins_over_pips_files() -> None:
    assert environment({"PIP_INDEX_URL": INDEX}, {"index-url": "other"})["UV_DEFAULT_INDEX"] == INDEX


def test_with_several_indexes_the_best_of_all_is_taken_as_pip_does() -> None:
    assert environment({"PIP_EXTRA_INDEX_URL": INDEX}, {})["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert "UV_INDEX_STRATEGY" not in environment({"PIP_INDEX_URL": INDEX}, {})


def test_our_own_environment_does_not_leak_into_the_engines() -> None:
    made = environment({"PYTHONPATH": "/x", "VIRTUAL_ENV": "/y", "UV_SYSTEM_PYTHON": "1"}, {})
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "UV_SYSTEM_PYTHON"} & set(made)


def test_pips_files_are_read_in_its_order(tmp_path: Path) -> None:
    system, home = tmp_path / "xdg" / "pip", tmp_path / "home"
    user = home / ".config" / "pip"
    system.mkdir(parents=True)
    user.mkdir(parents=True)
    (system / "pip.conf").write_text(f"[global]\nindex-url = {INDEX}\nfind-links =\n    /a\n    /b\n")
    (user / "pip.conf").write_text("[global]\nindex_url = user\n[install]\nno-index = true\n")
    found = pip_settings({"HOME": str(home), "XDG_CONFIG_DIRS": str(tmp_path / "xdg")})
    assert found["index-url"] == "user"
    assert found["find-links"].split() == ["/a", "/b"]
    assert is_offline_wanted({}, found)


def test_a_broken_file_of_pips_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\xff[[[")
    assert pip_settings({"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "broken")}) is not None


def test_pip_without_configuration_is_none() -> None:
    assert pip_settings({"PIP_CONFIG_FILE": "/dev/null"}) == {}


@pytest.mark.parametrize(("said", "wanted"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_no_index_is_a_wish_of_its_own(said: str, wanted: bool) -> None:
    assert is_offline_wanted({"PIP_NO_INDEX": said}, {}) is wanted


@pytest.mark.parametrize(("may_write", "value"), [(True, None), (False, "1")])
def test_without_a_cache_that_can_be_written_uv_makes_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_write: bool, value: str | None
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr("os.access", lambda path, mode: asked.append(path) or may_write)
    assert environment({"HOME": str(tmp_path / "none")}, {}).get("UV_NO_CACHE") == value
    assert asked == [tmp_path]
