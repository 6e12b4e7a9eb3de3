"""Facts of a model from wherever its files lie: names, sizes and ranges of bytes are all that is asked for."""

import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import speech
from gpustack_lite.hub.config_facts import facts_of_config
from gpustack_lite.hub.gguf import Header, header_of
from gpustack_lite.hub.gguf_facts import facts_of
from gpustack_lite.hub.safetensors import Tensor, read_tensors
from gpustack_lite.hub.templates import TEMPLATE_FILES, with_template
from gpustack_lite.hub.tensor_roles import groups_of

T = TypeVar("T")
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".nemo")
"""What is usually read by unpickling, which can run code; what CTranslate2 calls .bin is none."""
OTHER_WEIGHTS = (".onnx", ".onnx_data", ".om", ".npz", ".ckpt", ".nemo", ".pkl", ".pickle")
"""Of models that no reader of ours opens: their sizes are still something."""
PIPELINE = "model_index.json"
POOLS = "modules.json"
"""Of sentence-transformers: engines take a text model that has it for one that pools."""
_BOUNDED = "sentence_bert_config.json"
_TEMPLATE_LIMIT_BYTES = 4 * 1024**2
_CONFIG_LIMIT_BYTES = 16 * 1024**2
_BLOCK_BYTES = 2 * 1024**2
_DESCRIPTION = re.compile(r"(^|/)quant_model_description[^/]*\.json$")
_DESCRIBED = re.compile(rb'"model_quant_type"\s*:\s*"([A-Za-z0-9_]{1,40})"')
_DESCRIPTION_BYTES = 64 * 1024
_SPEECH = ("speech", "audio", "tts", "whisper")


class Shelf(Protocol):
    def names(self) -> Sequence[str]:
        """Relative, with slashes, sorted."""

    def shown(self, name: str = "") -> str:
        """How a file, or the whole, is called in sentences."""

    def size(self, name: str) -> int: ...
    def read_at(self, name: str, offset: int, count: int) -> bytes: ...
    def each(self, read: Callable[[str], T], names: Sequence[str]) -> list[T]:
        """In the order of the names; several at once where that helps."""


def facts_of_ggufs(shelf: Shelf, parts: Sequence[str], path: str) -> ModelFacts:
    """Of all parts of one model."""
    headers = shelf.each(lambda name: gguf_header(shelf, name), parts)
    return facts_of(headers, path, sum(header.file_bytes for header in headers))


def gguf_header(shelf: Shelf, name: str) -> Header:
    raw = _Raw(shelf, name)
    return header_of(io.BufferedReader(raw, _BLOCK_BYTES), shelf.shown(name), raw.size)


def facts_of_folder(shelf: Shelf, path: str, *, reads_headers: bool = True) -> ModelFacts:
    """From config.json, and from the headers or the sizes of the weights where they are there.

    A pipeline of diffusers and a model without any config tell what they are and how large.

    Raises:
        Refusal: `not_a_model`, `hf_config_invalid` or `safetensors_invalid`.
    """
    names = shelf.names()
    weights = [name for name in names if name.endswith((*WEIGHTS, *OTHER_WEIGHTS))]
    if "config.json" in names:
        facts = speech.as_whisper(names, _with_use(shelf, names, _described(shelf, names, path)))
    elif PIPELINE in names:
        facts = _pipeline(shelf, path)
    elif voice := speech.voice_of(names):
        return speech.facts_of_voice(path, shelf.size(voice))
    elif weights:
        facts = ModelFacts("hf", path, 0, unknown=("config.json",))
    else:
        raise Refusal("not_a_model", param="source", path=shelf.shown())
    return _weighed(shelf, facts, weights, reads_headers)


def _described(shelf: Shelf, names: Sequence[str], path: str) -> ModelFacts:
    """ModelSlim leaves its own description beside a config.json that may say nothing of quantisation."""
    content = read_document(shelf, "config.json")
    description = next((name for name in names if _DESCRIPTION.search(name)), None)
    if description is None:
        return facts_of_config(content, path)
    said = content if "quantization_config" in content else {**content, "quantization_config": _SLIM}
    facts = facts_of_config(said, path)
    found = _DESCRIBED.search(shelf.read_at(description, 0, _DESCRIPTION_BYTES))
    kind = found[1].decode("ascii").lower() if found else facts.quantization
    return replace(facts, quantization=kind, quantization_method="ascend")


_SLIM = {"quant_method": "ascend"}


def _with_use(shelf: Shelf, names: Sequence[str], facts: ModelFacts) -> ModelFacts:
    """What the tokenizer's template says, and whether a text model was trained to embed: its class does not say so."""
    embeds = POOLS in names and facts.kind == "llm"
    facts = replace(facts, kind="embedding", pooling=facts.pooling or "last") if embeds else facts
    if POOLS in names and _BOUNDED in names:
        facts = _bounded(facts, read_document(shelf, _BOUNDED).get("max_seq_length"))
    return with_template(facts, _template_files(shelf, names))


def _bounded(facts: ModelFacts, longest: object) -> ModelFacts:
    """Texts were cut to this length when it was trained, and engines take no longer ones, whatever config.json says."""
    if not isinstance(longest, int) or longest < 1:
        return facts
    return replace(facts, trained_context_length=min(longest, facts.trained_context_length or longest))


def _template_files(shelf: Shelf, names: Sequence[str]) -> dict[str, str]:
    """The first that is there says it; the others are not read beside it."""
    there = [name for name in TEMPLATE_FILES if name in names and shelf.size(name) <= _TEMPLATE_LIMIT_BYTES]
    wanted = there[:1] if TEMPLATE_FILES[0] in there else there
    return {name: shelf.read_at(name, 0, shelf.size(name)).decode("utf-8", "replace") for name in wanted}


def _pipeline(shelf: Shelf, path: str) -> ModelFacts:
    """What diffusers calls a pipeline: parts in folders of their own."""
    said = read_document(shelf, PIPELINE).get("_class_name")
    name = said[:200] if isinstance(said, str) else None
    kind = "audio" if any(word in (name or "").lower() for word in _SPEECH) else "image"
    return ModelFacts("hf", path, 0, architecture=name, kind=cast(Any, kind), unknown=("config.json",))


def _weighed(shelf: Shelf, facts: ModelFacts, weights: Sequence[str], reads_headers: bool) -> ModelFacts:
    safe = [name for name in weights if name.endswith(".safetensors")]
    held = safe or weights
    size = sum(shelf.size(name) for name in held)
    is_python = facts.architecture != speech.WHISPER
    pickled = is_python and not safe and any(name.lower().endswith(PICKLES) for name in weights)
    facts = replace(facts, size_bytes=size, download_bytes=size or None, has_pickle=pickled)
    if safe and reads_headers and "config.json" not in facts.unknown:
        return _with_headers(shelf, facts, safe)
    return replace(facts, weights_bytes=size, weights_from="files") if held else facts


def _with_headers(shelf: Shelf, facts: ModelFacts, names: Sequence[str]) -> ModelFacts:
    found = shelf.each(lambda name: tensors_of(shelf, name), names)
    groups = groups_of([tensor for tensors in found for tensor in tensors], facts.layer_count)
    return replace(
        facts,
        weights=groups,
        weights_bytes=sum(group.size_bytes for group in groups),
        parameter_count=facts.parameter_count or sum(group.parameter_count for group in groups),
        weights_from="headers",
    )


def tensors_of(shelf: Shelf, name: str) -> tuple[Tensor, ...]:
    return read_tensors(lambda offset, count: shelf.read_at(name, offset, count), shelf.size(name), shelf.shown(name))


def read_document(shelf: Shelf, name: str) -> dict[str, Any]:
    """Raises:
    Refusal: `hf_config_invalid`.
    """
    if shelf.size(name) > _CONFIG_LIMIT_BYTES:
        raise _invalid(shelf, name, "> 16 MiB")
    try:
        content = json.loads(shelf.read_at(name, 0, _CONFIG_LIMIT_BYTES))
    except (ValueError, RecursionError) as error:
        raise _invalid(shelf, name, str(error)) from error
    if not isinstance(content, dict):
        raise _invalid(shelf, name, type(content).__name__)
    return content


def one_by_one(read: Callable[[str], T], names: Iterable[str]) -> list[T]:
    return [read(name) for name in names]


def _invalid(shelf: Shelf, name: str, why: str) -> Refusal:
    return Refusal("hf_config_invalid", param="source", path=shelf.shown(name), why=why)


class _Raw(io.RawIOBase):
    """A file of a shelf, for readers that want a stream."""

    def __init__(self, shelf: Shelf, name: str) -> None:
        self._shelf = shelf
        self._name = name
        self._position = 0
        self.size = shelf.size(name)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = max(0, begin + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), max(0, self.size - self._position))
        content = self._shelf.read_at(self._name, self._position, count) if count else b""
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)
