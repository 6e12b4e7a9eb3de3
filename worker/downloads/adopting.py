"""Copies that lie on this machine already, in the caches of other programs: they are used where they are.

Layouts: Hugging Face's (`models--org--name/snapshots/COMMIT/PATH`), ModelScope's (`[models/]org/name/PATH`, with `___`
for a dot in the name), and GPUStack 0.6's (`huggingface/org/name/PATH` and `model_scope/org/name/PATH`).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from worker.downloads.names import folder_of

Layout = Literal["huggingface", "modelscope", "plain"]


class Cache(NamedTuple):
    """`hub` is the one whose files lie there."""

    hub: str
    layout: Layout
    root: Path


def caches(environ: Mapping[str, str], home: Path) -> tuple[Cache, ...]:
    """Where other programs keep what they fetched, by their own settings; what does not exist costs nothing."""
    return (
        *(Cache("huggingface", "huggingface", each) for each in _huggingface(environ, home)),
        *(Cache("modelscope", "modelscope", each) for each in _modelscope(environ, home)),
        *_gpustack(environ),
    )


def _huggingface(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub: the rule of its own client."""
    if said := environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE"):
        yield Path(said)
    if said := environ.get("HF_HOME"):
        yield Path(said) / "hub"
    yield Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "huggingface" / "hub"


def _modelscope(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    if said := environ.get("MODELSCOPE_CACHE"):
        yield from (Path(said), Path(said) / "hub")
    yield home / ".cache" / "modelscope" / "hub"


def _gpustack(environ: Mapping[str, str]) -> Iterator[Cache]:
    data = Path(environ.get("GPUSTACK_DATA_DIR") or "/var/lib/gpustack")
    roots = [data / "cache", *([Path(said)] if (said := environ.get("GPUSTACK_CACHE_DIR")) else [])]
    for root in roots:
        yield Cache("huggingface", "plain", root / "huggingface")
        yield Cache("modelscope", "plain", root / "model_scope")


def candidates(known: Sequence[Cache], hub: str, repository: str, commit: str) -> Iterator[Path]:
    """Directories that would hold the files of this repository under their own paths."""
    organisation, _, name = repository.rpartition("/")
    if not organisation or not folder_of(hub, repository).endswith(name):
        return
    for cache in (each for each in known if each.hub == hub):
        if cache.layout == "huggingface":
            yield cache.root / f"models--{organisation}--{name}" / "snapshots" / commit
        else:
            spellings = dict.fromkeys((name, name.replace(".", "___")))
            middles = ("models", "") if cache.layout == "modelscope" else ("",)
            yield from (cache.root / middle / organisation / each for middle in middles for each in spellings)
