"""What a repository holds at one commit, and which of it a model needs; pure."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from gpustack_lite.errors import Refusal

Format = Literal["gguf", "hf"]
PART = re.compile(r"^(?P<stem>.+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf$")
PREFERRED = ("Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "IQ4_XS", "Q5_K_S", "Q6_K", "Q8_0", "Q3_K_M", "BF16", "F16", "F32")
"""Quantisations in the order in which one is taken where nobody chose: the usual balance of size and quality first."""
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
_OTHER_WEIGHTS = (".h5", ".msgpack", ".onnx", ".onnx_data", ".ot", ".tflite", ".mlmodel", ".ckpt", ".gguf", ".pdparams")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".mp4", ".pdf", ".ipynb")
_MOST_SAID = 10


@dataclass(frozen=True, slots=True)
class HubFile:
    """`path` is below the repository, with slashes. `sha256` is that of the content, where the hub tells it."""

    path: str
    size_bytes: int
    sha256: str | None = None
    etag: str | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Listing:
    """`commit` is what reads are pinned to: a hash, or the revision's name where the hub tells no hash."""

    commit: str
    files: tuple[HubFile, ...]

    @property
    def digest(self) -> str:
        """Changes whenever a file does, also where the commit is only a name."""
        lines = (f"{each.path}\n{each.size_bytes}\n{each.sha256 or each.etag}\n" for each in self.files)
        return hashlib.sha256("".join((self.commit, "\n", *lines)).encode()).hexdigest()


def total_bytes(files: Iterable[HubFile]) -> int:
    return sum(each.size_bytes for each in files)


def wanted(listing: Listing, include: Sequence[str] = (), form: Format | None = None) -> tuple[HubFile, ...]:
    """The files that a model needs, sorted by path. `form` is what the engine reads, where that is known.

    Without `include`: of GGUF files one quantisation, all its parts; of other repositories the weights once
    (safetensors before pickles) and what lies beside them. With it: what it matches, all parts of a split file, and
    beside weights in the Hugging Face format the small files that they are nothing without.

    Raises:
        Refusal: `hub_nothing_included` or `hub_no_model_files`.
    """
    chosen = _included(listing, include) if include else _usual(listing, form)
    return tuple(sorted(chosen, key=lambda each: each.path))


def format_of(listing: Listing, form: Format | None = None) -> Format:
    """GGUF where an engine asks for it, or where there is nothing else."""
    return "gguf" if _ggufs(listing) and (form == "gguf" or not _weights(listing.files)) else "hf"


def ggufs_of(files: Iterable[HubFile]) -> tuple[HubFile, ...]:
    """The models among them in GGUF; of a split one all parts."""
    return tuple(each for each in files if each.path.endswith(".gguf") and not each.name.startswith("mmproj"))


def first_parts(files: Iterable[HubFile]) -> tuple[HubFile, ...]:
    return tuple(each for each in files if not (part := PART.match(each.path)) or int(part["number"]) == 1)


def parts_of(first: HubFile, files: Iterable[HubFile]) -> tuple[HubFile, ...]:
    """
    Raises:
        Refusal: `gguf_part_missing`.
    """
    match = PART.match(first.path)
    if match is None:
        return (first,)
    known = {each.path: each for each in files}
    count = int(match["count"])
    paths = [f"{match['stem']}-{number:05}-of-{match['count']}.gguf" for number in range(1, count + 1)]
    missing = [path for path in paths if path not in known]
    if missing:
        shown = ", ".join(missing[:5])
        raise Refusal("gguf_part_missing", param="source", path=first.path, missing=shown, count=len(missing))
    return tuple(known[path] for path in paths)


def preferred(firsts: Sequence[HubFile]) -> HubFile:
    """The usual quantisation; of several alike the smallest, then by name. Always the same one."""
    return min(firsts, key=lambda each: (_rank(each.name), each.size_bytes, each.path))


def quantization_of(path: str) -> str | None:
    """As the file's name has it; None where it has none of those that we know."""
    found = [name for name in PREFERRED if _says(path, name)]
    return max(found, key=len, default=None)


def _rank(name: str) -> int:
    said = quantization_of(name)
    return len(PREFERRED) if said is None else PREFERRED.index(said)


def _says(path: str, name: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9_])", path, re.IGNORECASE) is not None


def _included(listing: Listing, include: Sequence[str]) -> set[HubFile]:
    patterns = [f"{each}*" if each.endswith("/") else each for each in include]
    chosen = {each for each in listing.files if any(fnmatchcase(each.path, pattern) for pattern in patterns)}
    if not chosen:
        raise Refusal("hub_nothing_included", param="include", include=", ".join(include), names=_named(listing.files))
    for each in list(chosen):
        chosen.update(_siblings(each, listing))
    return chosen | (set(_beside(listing)) if _weights(chosen) else set())


def _siblings(part: HubFile, listing: Listing) -> tuple[HubFile, ...]:
    match = PART.match(part.path)
    return () if match is None else _parts_with(match["stem"], match["count"], listing)


def _parts_with(stem: str, count: str, listing: Listing) -> tuple[HubFile, ...]:
    matches = ((each, PART.match(each.path)) for each in listing.files)
    return tuple(each for each, match in matches if match and (match["stem"], match["count"]) == (stem, count))


def _usual(listing: Listing, form: Format | None) -> set[HubFile]:
    if format_of(listing, form) == "gguf":
        models = _ggufs(listing)
        return set(parts_of(preferred(first_parts(models) or models), models))
    chosen = {*_once(_weights(listing.files)), *_beside(listing)}
    if not chosen:
        raise Refusal("hub_no_model_files", param="source", names=_named(listing.files))
    return chosen


def _once(weights: Sequence[HubFile]) -> list[HubFile]:
    """Many repositories hold the same weights twice or thrice: for another library, or as the author's own files."""
    safe = [each for each in weights if each.path.endswith(".safetensors")]
    held = safe or list(weights)
    usual = [each for each in held if not (each.path.startswith("original/") or each.name.startswith("consolidated"))]
    return usual or held


def _beside(listing: Listing) -> list[HubFile]:
    others = (*_WEIGHTS, *_OTHER_WEIGHTS, *_PICTURES)
    return [
        each
        for each in listing.files
        if not each.path.endswith(others) and not each.name.startswith(".") and not each.path.startswith("original/")
    ]


def _weights(files: Iterable[HubFile]) -> list[HubFile]:
    return [each for each in files if each.path.endswith(_WEIGHTS)]


def _ggufs(listing: Listing) -> tuple[HubFile, ...]:
    return ggufs_of(listing.files)


def _named(files: Sequence[HubFile]) -> str:
    shown = sorted(each.path for each in files)
    more = len(shown) - _MOST_SAID
    return ", ".join(shown[:_MOST_SAID]) + (f", ... ({more})" if more > 0 else "") or "-"
