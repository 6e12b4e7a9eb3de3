"""What a model's `source` names: a path on the workers, a repository of a hub, a URL, or nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from gpustack_lite.errors import Refusal

SourceKind = Literal["path", "url", "huggingface", "modelscope", "none"]
LONGEST_SOURCE = 4096
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""What nobody sees, or sees in another order."""
_LATER = (
    ("huggingface:", "huggingface"),
    ("modelscope:", "modelscope"),
    ("https://", "url"),
    ("http://", "url"),
)
_HUBS = frozenset({"huggingface", "modelscope"})
_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,95})?")
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,199}")


@dataclass(frozen=True, slots=True)
class Source:
    """`value` is an absolute path, "org/name", a URL, or empty for kind "none".

    `revision` and `include` (patterns of the files that are wanted) belong to what lies on a hub.
    """

    kind: SourceKind
    value: str
    revision: str | None = None
    include: tuple[str, ...] = ()

    @property
    def is_remote(self) -> bool:
        return self.kind in {"huggingface", "modelscope", "url"}


def parse(source: str, *, needs_files: bool = True) -> Source:
    """A source, well-formed. A backend that opens no files is given a repository as a name, and no URL.

    Raises:
        Refusal: `source_too_long`, `source_unprintable`, `source_not_absolute`, `source_url_without_files`,
            `source_repository_invalid`, `source_revision_invalid`, `source_url_invalid` or `unknown_source`.
    """
    _must_be_readable(source)
    if not is_remote(source):
        return recognise(source)
    found = repository(source)
    if found.kind == "url" and not needs_files:
        raise Refusal("source_url_without_files", param="source", source=source)
    return found


def recognise(source: str) -> Source:
    """The kind of a source, whatever the rest of it looks like."""
    if source == "none:":
        return Source("none", "")
    for prefix, kind in _LATER:
        if source.lower().startswith(prefix):
            return Source(kind, source if kind == "url" else source[len(prefix) :])  # type: ignore[arg-type]
    path = _file_url_path(source)
    if "\\" in path:
        raise Refusal("source_unprintable", param="source", source=source)
    if path.startswith("/"):
        return Source("path", path)
    if path.startswith((".", "~")) or (":" not in path and ("/" in path or path.lower().endswith(".gguf"))):
        raise Refusal("source_not_absolute", param="source", source=source)
    raise Refusal("unknown_source", param="source", source=source)


def repository(source: str) -> Source:
    """A source that lies on a hub, well-formed; what `question` made is read as well.

    Raises:
        Refusal: `source_repository_invalid`, `source_revision_invalid`, `source_url_invalid`, or what `parse` raises.
    """
    _must_be_readable(source)
    bare, _, asked = source.partition("#")
    found = recognise(bare)
    more = parse_qs(asked)
    revision = more.get("revision", [None])[0]
    if found.kind == "url":
        return replace(_url(found.value), include=tuple(more.get("include", ())))
    if found.kind not in _HUBS:
        raise Refusal("unknown_source", param="source", source=bare)
    name, _, pinned = found.value.partition("@")
    _must_be_repository(found.kind, name, bare)
    return Source(found.kind, name, _revision(bare, revision or pinned or None), tuple(more.get("include", ())))


def question(source: str, revision: str | None = None, include: Sequence[str] = ()) -> str:
    """Source, revision and patterns in one string, as workers are asked about it: the same question, the same string.

    What lies on a worker's own disk has neither.
    """
    if not is_remote(source):
        return source
    asked = {"revision": revision} if revision else {}
    wanted = [*asked.items(), *(("include", each) for each in sorted(set(include)))]
    return f"{source}#{urlencode(wanted)}" if wanted else source


def is_remote(source: str) -> bool:
    """Whether a source lies on a hub or behind a URL, well-formed or not."""
    return source.lower().startswith(tuple(prefix for prefix, _ in _LATER))


def _must_be_repository(kind: SourceKind, name: str, source: str) -> None:
    """ModelScope has no repositories without an owner; Hugging Face has some from its first days, such as gpt2."""
    odd = ".." in name or "--" in name or name.endswith((".git", "-", "."))
    if _REPOSITORY.fullmatch(name) is None or odd or (kind == "modelscope" and "/" not in name):
        raise Refusal("source_repository_invalid", param="source", source=source)


def _revision(source: str, revision: str | None) -> str | None:
    if revision is not None and (_REVISION.fullmatch(revision) is None or ".." in revision or "//" in revision):
        raise Refusal("source_revision_invalid", param="source_revision", source=source, revision=revision)
    return revision


def _url(url: str) -> Source:
    """Of one GGUF file. Without a query, in which secrets travel: everybody who may see the model sees its source."""
    parts = urlsplit(url.removesuffix("?download=true"))
    if parts.query or "@" in parts.netloc or not parts.path.lower().endswith(".gguf"):
        raise Refusal("source_url_invalid", param="source", host=parts.hostname or "?")
    return Source("url", parts.geturl())


def _must_be_readable(source: str) -> None:
    if len(source) > LONGEST_SOURCE:
        raise Refusal("source_too_long", param="source", length=len(source), longest=LONGEST_SOURCE)
    if _UNPRINTABLE.search(source):
        raise Refusal("source_unprintable", param="source", source=source)


def _file_url_path(source: str) -> str:
    """file:/x and file:///x name the path /x; a host has no meaning here."""
    if not source.lower().startswith("file:"):
        return source
    rest = source[len("file:") :]
    if rest.startswith("//") and not rest.startswith("///"):
        raise Refusal("unknown_source", param="source", source=source)
    return rest.removeprefix("//")
