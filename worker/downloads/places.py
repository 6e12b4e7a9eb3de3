"""Where the files of each hub are kept on this machine; pure."""

from collections.abc import Mapping
from pathlib import Path

from gpustack_lite.settings import Settings


def root_of(settings: Settings, environ: Mapping[str, str], hub: str) -> Path:
    """`files_dir`, else for Hugging Face the cache that its own client would use, if somebody named one."""
    if settings.files_dir is not None:
        return settings.files_dir / hub
    named = _named(environ)
    return named if hub == "huggingface" and named is not None else settings.data_dir / "models" / hub


def _named(environ: Mapping[str, str]) -> Path | None:
    """HF_HUB_CACHE, else HF_HOME/hub (huggingface_hub.constants)."""
    if said := environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(said).expanduser().absolute()
    return Path(said).expanduser().absolute() / "hub" if (said := environ.get("HF_HOME")) else None
