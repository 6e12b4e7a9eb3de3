"""What a model's `source` names: a path on the workers, a repository of a hub, a URL, or nothing."""

import re
from dataclasses import dataclass
from typing import Literal

from gpustack_lite.errors import Refusal

SourceKind = Literal["path", "url", "huggingface", "modelscope", "none"]
LONGEST_SOURCE = 4096
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LATER = (
    ("huggingface:", "huggingface"),
    ("modelscope:", "modelscope"),
    ("https://", "url"),
    ("http://", "url"),
)
_NAMES = frozenset({"path", "none", "huggingface", "modelscope"})


@dataclass(frozen=True, slots=True)
class Source:
    """`value` is an absolute path, "org/name", a URL, or empty for kind "none"."""

    kind: SourceKind
    value: str


def parse(source: str, *, needs_files: bool = True) -> Source:
    """A source that this version can launch; where no files are needed, a hub's repository is a name like any other.

    Raises:
        Refusal: `source_too_long`, `source_unprintable`, `source_not_absolute`, `source_not_supported_yet` or
            `unknown_source`.
    """
    _must_be_readable(source)
    recognised = recognise(source)
    if recognised.kind not in ({"path", "none"} if needs_files else _NAMES):
        raise Refusal("source_not_supported_yet", param="source", source=source)
    return recognised


def recognise(source: str) -> Source:
    """The kind of a source, of whatever this or a later version can launch."""
    if source == "none:":
        return Source("none", "")
    for prefix, kind in _LATER:
        if source.lower().startswith(prefix):
            return Source(kind, source if kind == "url" else source[len(prefix) :])  # type: ignore[arg-type]
    path = _file_url_path(source)
    if path.startswith("/"):
        return Source("path", path)
    if path.startswith((".", "~")) or (":" not in path and ("/" in path or path.lower().endswith(".gguf"))):
        raise Refusal("source_not_absolute", param="source", source=source)
    raise Refusal("unknown_source", param="source", source=source)


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
