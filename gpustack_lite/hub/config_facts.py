"""ModelFacts from a config.json alone: what the model is, what its layers keep, and what its weights must weigh."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpustack_lite.domain import ModelFacts, ModelKind
from gpustack_lite.hub.config_layers import layers_of
from gpustack_lite.hub.config_reader import Config
from gpustack_lite.hub.config_weights import Bits, is_encoder, is_tied, weights_of

_AUDIO = ("whisper", "qwen2_audio", "speech", "wav2vec2", "moonshine", "voxtral", "parler_tts", "qwen3_asr", "vits")
_NEEDED = ("layers", "hidden", "heads", "vocab", "context")


def facts_of_config(content: Mapping[str, Any], path: str) -> ModelFacts:
    """`unknown` lists what the file does not say, by the usual spelling of the field."""
    config = Config(content)
    layers, weights = layers_of(config), weights_of(config)
    bits = Bits.of(config)
    facts = ModelFacts(
        format="hf",
        path=path,
        size_bytes=0,
        architecture=config.architecture,
        name=config.text("_name_or_path"),
        parameter_count=sum(group.parameter_count for group in weights) or None,
        quantization=None if bits is None else bits.name,
        quantization_method=None if bits is None else bits.name,
        layer_count=config.whole("layers"),
        embedding_length=config.whole("hidden"),
        head_count=config.whole("heads"),
        key_length=config.head_dim,
        value_length=config.whole("v_head_dim") or config.head_dim,
        vocab_size=config.whole("vocab"),
        trained_context_length=config.context,
        weights_bytes=sum(group.size_bytes for group in weights) or None,
        feed_forward_length=config.whole("ffn"),
        kind=kind_of(config),
        layers=layers,
        weights=weights,
        weights_from="config" if weights else None,
        dtype=config.dtype,
        is_tied=is_tied(config),
        expert_count=config.whole("experts") or 0,
        experts_per_token=config.whole("experts_per_token") or 0,
        vision_head_count=_vision_heads(config),
        runs_code=_names_code(content),
        unknown=tuple(name for name in _NEEDED if config.whole(name) is None),
    )
    return _with_cache(facts)


def _names_code(content: Mapping[str, Any]) -> bool:
    """Engines look for `auto_map` in the configuration of a model's parts too."""
    parts = (content, *(each for each in content.values() if isinstance(each, dict)))
    return any(part.get("auto_map") for part in parts)


def _with_cache(facts: ModelFacts) -> ModelFacts:
    """The fields by which GGUF headers say the same."""
    heads = tuple(group.kv_heads for group in facts.layers for _ in range(group.count) if group.kind != "none")
    sliding = [group for group in facts.layers if group.kind == "sliding"]
    return replace(
        facts,
        kv_head_counts=heads,
        sliding_window=next((group.window for group in sliding), None),
        sliding_window_layer_count=sum(group.count for group in sliding) or None,
        state_bytes_per_sequence=sum(group.count * group.state_bytes for group in facts.layers),
        pooling={"embedding": "mean", "reranker": "rank"}.get(facts.kind),
    )


def kind_of(config: Config) -> ModelKind:
    """By the class that its authors name, as engines do."""
    name = config.architecture or ""
    if config.model_type.startswith(_AUDIO) or str(config.outer.get("model_type", "")).startswith(_AUDIO):
        return "audio"
    if name.endswith("ForSequenceClassification"):
        labels = config.outer.get("id2label")
        return "reranker" if isinstance(labels, dict) and len(labels) == 1 else "classifier"
    if config.section("vision_config") is not None or "vl" in config.model_type.split("_"):
        return "vlm"
    if is_encoder(config) or name.endswith(("EmbeddingModel", "ForMaskedLM")):
        return "embedding"
    if name.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ChatGLMModel")):
        return "llm"
    return "unknown"


def _vision_heads(config: Config) -> int | None:
    vision = config.section("vision_config")
    return None if vision is None else vision.whole("heads")
