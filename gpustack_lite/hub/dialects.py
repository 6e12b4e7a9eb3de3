"""How each hub's HTTP API is asked and what its answers mean: addresses to make, documents to read; pure.

Hugging Face: huggingface.co/docs/hub/api (models/.../revision, models/.../tree, resolve). ModelScope: the paths that
its own client modelscope_hub calls (/api/v1/models/.../repo/files and .../repo).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from gpustack_lite.hub.listing import HubFile

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NEXT = re.compile(r'<([^>]+)>\s*;[^,]*rel="?next"?')
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Dialect(Protocol):
    usual_revision: str

    def commit_url(self, endpoint: str, repository: str, revision: str) -> str | None:
        """What tells the commit of a revision; None where the listing does."""

    def listing_url(self, endpoint: str, repository: str, revision: str) -> str: ...
    def file_url(self, endpoint: str, repository: str, commit: str, path: str) -> str: ...
    def commit_of(self, document: Any, revision: str) -> str: ...
    def files_of(self, document: Any) -> Iterator[HubFile]:
        """Nothing from a document of another shape."""


class HuggingFace:
    usual_revision = "main"

    def commit_url(self, endpoint: str, repository: str, revision: str) -> str | None:
        return f"{endpoint}/api/models/{repository}/revision/{quote(revision, safe='')}"

    def listing_url(self, endpoint: str, repository: str, revision: str) -> str:
        return f"{endpoint}/api/models/{repository}/tree/{quote(revision, safe='')}?recursive=true"

    def file_url(self, endpoint: str, repository: str, commit: str, path: str) -> str:
        return f"{endpoint}/{repository}/resolve/{quote(commit, safe='')}/{quote(path)}"

    def commit_of(self, document: Any, revision: str) -> str:
        return _text(document, "sha") or revision

    def files_of(self, document: Any) -> Iterator[HubFile]:
        for each in document if isinstance(document, list) else ():
            path, size = _text(each, "path"), _whole(each, "size")
            if path and size is not None and each.get("type") == "file":
                lfs = each.get("lfs")
                yield HubFile(path, size, _sha256(_text(lfs, "oid") or _text(lfs, "sha256")), _text(each, "oid"))


class ModelScope:
    usual_revision = "master"

    def commit_url(self, endpoint: str, repository: str, revision: str) -> str | None:
        return None

    def listing_url(self, endpoint: str, repository: str, revision: str) -> str:
        asked = urlencode({"Revision": revision, "Recursive": "True"})
        return f"{endpoint}/api/v1/models/{repository}/repo/files?{asked}"

    def file_url(self, endpoint: str, repository: str, commit: str, path: str) -> str:
        return f"{endpoint}/api/v1/models/{repository}/repo?{urlencode({'Revision': commit, 'FilePath': path})}"

    def commit_of(self, document: Any, revision: str) -> str:
        """The hub leaves the hash of a branch's last commit empty at times; then reads are by the branch's name."""
        last = _text(_inner(document, "LatestCommitter"), "Id") or ""
        return last if _HASH.fullmatch(last) else revision

    def files_of(self, document: Any) -> Iterator[HubFile]:
        found = _inner(document, "Files")
        for each in found if isinstance(found, list) else ():
            path, size = _text(each, "Path"), _whole(each, "Size")
            if path and size is not None and each.get("Type") != "tree":
                yield HubFile(path, size, _sha256(_text(each, "Sha256")), _text(each, "Revision"))


DIALECTS: Mapping[str, Dialect] = {"huggingface": HuggingFace(), "modelscope": ModelScope()}


def is_commit(revision: str) -> bool:
    return _HASH.fullmatch(revision) is not None


def next_page(link: str | None) -> str | None:
    """The address in a Link header (RFC 8288) by which a long listing goes on."""
    match = _NEXT.search(link or "")
    return match[1] if match else None


def is_safe(path: str) -> bool:
    """A path that stays below the folder that it is put into."""
    parts = path.split("/")
    return "\\" not in path and "\0" not in path and not path.startswith("/") and not {"", ".", ".."} & set(parts)


def _inner(document: Any, key: str) -> Any:
    data = document.get("Data") if isinstance(document, dict) else None
    return data.get(key) if isinstance(data, dict) else None


def _text(document: Any, key: str) -> str | None:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, str) else None


def _whole(document: Any, key: str) -> int | None:
    value = document.get(key) if isinstance(document, dict) else None
    return value if type(value) is int and value >= 0 else None


def _sha256(said: str | None) -> str | None:
    value = (said or "").removeprefix("sha256:").lower()
    return value if _SHA256.fullmatch(value) else None
