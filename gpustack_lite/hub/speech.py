"""Directories that speak or listen: a Piper voice, or a Whisper model in CTranslate2's form."""

from collections.abc import Sequence
from dataclasses import replace

from gpustack_lite.domain import ModelFacts

VOICE, WHISPER = "PiperVoice", "WhisperCTranslate2"
"""Names of ours: such directories name no class."""
_WEIGHTS = "model.bin"
_VOCABULARIES = frozenset({"vocabulary.txt", "vocabulary.json"})


def voice_of(names: Sequence[str]) -> str | None:
    """NAME.onnx beside its NAME.onnx.json, where there is one such pair only."""
    voices = [name for name in names if name.endswith(".onnx") and f"{name}.json" in names]
    return voices[0] if len(voices) == 1 else None


def facts_of_voice(path: str, size: int) -> ModelFacts:
    return ModelFacts(
        "hf", path, size, VOICE, kind="audio", weights_bytes=size, weights_from="files", download_bytes=size
    )


def as_whisper(names: Sequence[str], facts: ModelFacts) -> ModelFacts:
    """CTranslate2 leaves a vocabulary of its own beside model.bin, and a config.json that names neither class nor
    layers (ctranslate2/converters/transformers.py)."""
    is_one = facts.architecture is None and _WEIGHTS in names and not _VOCABULARIES.isdisjoint(names)
    return replace(facts, architecture=WHISPER, kind="audio") if is_one else facts
