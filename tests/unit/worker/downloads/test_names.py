"""Names that come from a hub are not trusted, and the same wish has the same name."""

import hashlib

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.repository import HubFile
from worker.downloads.names import (
    Expected,
    blob_of,
    commit_of,
    expected_of,
    folder_of,
    handed_out,
    key_of,
    safe_path,
)

HASH, GIT = "a" * 64, "b" * 40


@pytest.mark.parametrize("path", ["a", "a/b.json", ".gitattributes", "a..b", "a b", "模型.gguf"])
def test_a_plain_path_stays_as_it_is(path: str) -> None:
    assert safe_path(path) == path


HOSTILE = [
    "",
    "/etc/passwd",
    "..",
    "a/../b",
    "a/./b",
    "a//b",
    "a/",
    "a\\b",
    "a\0b",
    "a\nb",
    "x" * 300,
    "a/" * 600 + "b",
]


@pytest.mark.parametrize("path", [*HOSTILE, "\ud800", "\x7f"])
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(Refusal, match="files_bad_name"):
        safe_path(path)


@pytest.mark.parametrize(
    ("hub", "repository", "folder"),
    [
        pytest.param("huggingface", "org/name", "models--org--name", id="as its own client names it"),
        pytest.param("huggingface", "gpt2", "models--gpt2", id="one of the first days"),
    ],
)
def test_a_repository_has_a_folder(hub: str, repository: str, folder: str) -> None:
    assert folder_of(hub, repository) == folder


@pytest.mark.parametrize("repository", ["../x", "a/b/c", "a/..", "https://h/x.gguf", "a\0/b", "a/b..c"])
def test_what_is_no_plain_name_gets_a_hash(repository: str) -> None:
    assert set(folder_of("url", repository).removeprefix("models--")) <= set("0123456789abcdef")


def test_a_branch_with_slashes_is_no_folder() -> None:
    assert commit_of("refs/pr/1") == hashlib.sha256(b"refs/pr/1").hexdigest()[:40]
    assert commit_of(GIT) == GIT


def test_what_a_file_must_be() -> None:
    assert expected_of(HubFile("a", 3, HASH, GIT), "huggingface") == Expected(3, "sha256", HASH)
    assert expected_of(HubFile("a", 3, None, GIT), "huggingface") == Expected(3, "git", GIT)
    assert expected_of(HubFile("a", 3, None, GIT), "url") == Expected(3, "size")


def test_two_files_of_one_revision_without_hashes_are_two_blobs() -> None:
    one, other = (blob_of(HubFile(path, 3, None, GIT), GIT, "modelscope") for path in ("a", "b"))
    assert one != other


def test_the_order_of_patterns_makes_no_other_wish() -> None:
    assert key_of("s", None, ("a", "b"), None) == key_of("s", None, ("b", "a"), None)
    assert key_of("s", None, ("a",), None) != key_of("s", "main", ("a",), None)


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        pytest.param(["config.json", "m.safetensors"], "", id="the snapshot"),
        pytest.param(["q4/m.gguf", "mmproj-f16.gguf"], "q4/m.gguf", id="the one model"),
        pytest.param(["m-00002-of-00002.gguf", "m-00001-of-00002.gguf"], "m-00001-of-00002.gguf", id="the first part"),
        pytest.param(["a.gguf", "b.gguf"], "", id="two, of which the reader says so"),
    ],
)
def test_what_an_engine_is_told(paths: list[str], told: str) -> None:
    assert handed_out(paths) == told
