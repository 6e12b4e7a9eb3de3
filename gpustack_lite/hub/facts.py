"""Facts of a model on this machine's disk, confined to the directories that an administrator allowed."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from gpustack_lite.domain import LayerGroup, ModelFacts, WeightGroup
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.gguf import Header, header_of
from gpustack_lite.hub.gguf_facts import facts_of
from gpustack_lite.hub.listing import PART
from gpustack_lite.hub.roots import Roots
from gpustack_lite.hub.shelves import PIPELINE, facts_of_folder, one_by_one

T = TypeVar("T")
_MOST_FILES = 10_000
_MOST_PARTS = 50
_PARTS: Mapping[str, type[LayerGroup | WeightGroup]] = {"layers": LayerGroup, "weights": WeightGroup}
_LISTS = ("kv_head_counts", "unknown", "files", "layer_bytes", "template_signs")


def read(path: Path, roots: Sequence[Path]) -> ModelFacts:
    """The facts of a GGUF file, of a directory with exactly one, or of a directory with a config.json.

    `ModelFacts.path` has its symbolic links resolved, except for a split model, whose parts are found by their names
    (in a hub's cache those are links).

    Raises:
        Refusal: `source_missing`, `path_outside_roots`, `source_unreadable`, `not_a_model`, `several_models`,
            `gguf_*` or `hf_config_invalid`.
    """
    confined = Roots(roots)
    try:
        real = confined.real(path)
        return _read_directory(real, confined) if real.is_dir() else _read_gguf(path, confined)
    except (OSError, ValueError) as error:
        raise Refusal("source_unreadable", param="source", path=str(path), why=_reason(error)) from error


def document(facts: ModelFacts) -> dict[str, Any]:
    """Facts as JSON for the wire; `from_document` is its reverse."""
    lists = {name: list(getattr(facts, name)) for name in _LISTS}
    parts = {name: [asdict(each) for each in getattr(facts, name)] for name in _PARTS}
    return asdict(facts) | lists | parts


def from_document(content: Mapping[str, Any]) -> ModelFacts:
    """Fields that this version does not know are ignored."""
    known = {field.name: content[field.name] for field in fields(ModelFacts) if field.name in content}
    tuples = {name: tuple(known.get(name, ())) for name in _LISTS}
    parts = {name: tuple(_part(made, each) for each in known.get(name, ())) for name, made in _PARTS.items()}
    return ModelFacts(**known | tuples | parts)


def _part(made: type[LayerGroup | WeightGroup], content: Mapping[str, Any]) -> LayerGroup | WeightGroup:
    return made(**{field.name: content[field.name] for field in fields(made) if field.name in content})


def within(path: Path, roots: Sequence[Path]) -> Path:
    """The directory, its links resolved.

    Raises:
        Refusal: `path_outside_roots` or `source_missing`.
    """
    return Roots(roots).folder(path)


class _Folder:
    """A directory as a shelf; each file is held against the roots before it is opened."""

    def __init__(self, folder: Path, confined: Roots) -> None:
        self._folder = folder
        self._confined = confined
        self._names = _names(folder)

    def names(self) -> Sequence[str]:
        return self._names

    def shown(self, name: str = "") -> str:
        return str(self._folder / name) if name else str(self._folder)

    def size(self, name: str) -> int:
        with self._confined.opened(self._folder / name) as file:
            return os.fstat(file.fileno()).st_size

    def read_at(self, name: str, offset: int, count: int) -> bytes:
        with self._confined.opened(self._folder / name) as file:
            file.seek(offset)
            return file.read(count)

    def each(self, read: Callable[[str], T], names: Sequence[str]) -> list[T]:
        return one_by_one(read, names)


def _read_directory(folder: Path, confined: Roots) -> ModelFacts:
    shelf = _Folder(folder, confined)
    models = [name for name in shelf.names() if name.endswith(".gguf") and not name.startswith("mmproj")]
    firsts = [name for name in models if not (part := PART.match(name)) or int(part["number"]) == 1]
    if len(firsts) == 1:
        return _read_gguf(folder / firsts[0], confined)
    if len(firsts) > 1:
        raise Refusal("several_models", param="source", path=str(folder), names=", ".join(sorted(firsts)[:10]))
    return facts_of_folder(shelf, str(folder))


def _names(folder: Path) -> list[str]:
    """Of a pipeline also what its parts' folders hold."""
    names = _entries(folder)
    if PIPELINE not in names:
        return names
    folders = [name for name in names if (folder / name).is_dir()][:_MOST_PARTS]
    return sorted([*names, *(f"{inner}/{name}" for inner in folders for name in _entries(folder / inner))])


def _entries(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry, _ in zip(entries, range(_MOST_FILES), strict=False))


def _read_gguf(path: Path, confined: Roots) -> ModelFacts:
    parts = _parts(path)
    headers = [_header(part, confined) for part in parts]
    shown = parts[0] if len(parts) > 1 else confined.real(path)
    return facts_of(headers, str(shown), sum(header.file_bytes for header in headers))


def _header(part: Path, confined: Roots) -> Header:
    with confined.opened(part) as file:
        return header_of(file, str(part), os.fstat(file.fileno()).st_size)


def _parts(path: Path) -> list[Path]:
    """All files of a model that was split (llama-gguf-split names them -00001-of-0000N), or the file alone."""
    match = PART.match(path.name)
    if match is None:
        return [path]
    count = int(match["count"])
    parts = [path.with_name(f"{match['stem']}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]
    missing = [part.name for part in parts if not part.exists()]
    if missing or not parts:
        raise Refusal(
            "gguf_part_missing", param="source", path=str(path), missing=", ".join(missing[:5]), count=len(missing)
        )
    return parts


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
