"""Where the files of a repository lie: Hugging Face's cache layout, whatever hub they come from. Pure.

`models--org--name/blobs/HASH` hold the bytes, `snapshots/COMMIT/PATH` are links to them, `refs/NAME` says which commit
a branch was (huggingface.co/docs/huggingface_hub/guides/manage-cache). Names come from a hub, so none is trusted.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.repository import HubFile

_PLAIN = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")
_PART = re.compile(r"-(?P<number>[0-9]{5})-of-[0-9]{5}\.gguf$")
_SHA256 = re.compile(r"^[0-9a-f]{64}$")
_GIT = re.compile(r"^[0-9a-f]{40}$")
LONGEST_PATH = 1024
LONGEST_NAME = 240
"""A file system takes 255 bytes; what we write beside a name is a little longer than the name."""


class Expected(NamedTuple):
    """What a file must amount to. `git` is the hash that git gives a blob, `size` that the hub tells no hash."""

    size_bytes: int
    kind: Literal["sha256", "git", "size"]
    value: str = ""


def expected_of(file: HubFile, hub: str) -> Expected:
    """Only Hugging Face's ETags are known to be git's hashes; another server's may be anything."""
    if file.sha256 is not None and _SHA256.match(file.sha256.lower()):
        return Expected(file.size_bytes, "sha256", file.sha256.lower())
    if hub == "huggingface" and file.etag is not None and _GIT.match(file.etag):
        return Expected(file.size_bytes, "git", file.etag)
    return Expected(file.size_bytes, "size")


def safe_path(path: str) -> str:
    """The path of a file inside its repository.

    Raises:
        Refusal: `files_bad_name`: it could lead out of the directory, or no file system takes it.
    """
    parts = path.split("/")
    is_long = len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH or any(
        len(part.encode("utf-8", "surrogatepass")) > LONGEST_NAME for part in parts
    )
    is_odd = _UNPRINTABLE.search(path) is not None or any(0xD800 <= ord(each) <= 0xDFFF for each in path)
    if is_long or is_odd or any(part in {"", ".", ".."} for part in parts):
        raise Refusal("files_bad_name", status=502, name=path.encode("utf-8", "replace").decode()[:200])
    return path


def folder_of(hub: str, repository: str) -> str:
    """`models--org--name`; a URL is no name of a folder and gets one made of its hash."""
    parts = repository.split("/")
    if hub != "url" and len(parts) <= 2 and all(_PLAIN.match(part) and ".." not in part for part in parts):
        return "--".join(["models", *parts])
    return f"models--{_hash(repository)[:32]}"


def commit_of(commit: str) -> str:
    return commit if _PLAIN.match(commit) and ".." not in commit else _hash(commit)[:40]


def blob_of(file: HubFile, commit: str, hub: str) -> str:
    """The name of the bytes: their hash as Hugging Face's client names them, so that it finds them too."""
    expected = expected_of(file, hub)
    return expected.value or _hash(f"{commit}\n{file.path}\n{file.etag}\n{file.size_bytes}")


def key_of(source: str, revision: str | None, include: Sequence[str], form: str | None) -> str:
    return _hash(json.dumps([source, revision, sorted(include), form]))[:32]


def handed_out(paths: Sequence[str]) -> str:
    """What an engine is told, within the snapshot: the one GGUF (the first part of a split one), else all of it: ""."""
    models = [path for path in paths if path.endswith(".gguf") and not _is_projector(path)]
    firsts = [path for path in models if not (part := _PART.search(path)) or int(part["number"]) == 1]
    return firsts[0] if len(firsts) == 1 and "config.json" not in paths else ""


def _is_projector(path: str) -> bool:
    return path.rpartition("/")[2].startswith("mmproj")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
