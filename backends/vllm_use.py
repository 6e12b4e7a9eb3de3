"""What a model is used for under vLLM's options, and what clients may ask of one that pools instead of writing."""

import json
from collections.abc import Mapping
from dataclasses import replace

from backends.options import OptionValue
from gpustack_lite.domain import Abilities, ModelFacts, ModelKind

POOLED: Mapping[str, frozenset[str]] = {
    "embedding": frozenset({"/v1/embeddings", "/v1/rerank", "/v1/score"}),
    "reranker": frozenset({"/v1/rerank", "/v1/score"}),
    "classifier": frozenset({"/v1/classify"}),
}
"""An embedding model scores too: by the cosine of two embeddings."""
_CONVERTED: Mapping[str, ModelKind] = {"embed": "embedding", "classify": "classifier"}


def used_as(facts: ModelFacts, values: Mapping[str, OptionValue]) -> ModelFacts:
    """By `runner` and `convert`, and by the class that `hf-overrides` names, as rerankers made of text models want."""
    if values.get("runner") == "generate":
        return facts
    if _overridden(values).endswith("ForSequenceClassification"):
        return replace(facts, kind="reranker")
    if str(values.get("convert")) in _CONVERTED:
        return replace(facts, kind=_CONVERTED[str(values["convert"])])
    if values.get("runner") == "pooling" and facts.kind not in POOLED:
        return replace(facts, kind="embedding")
    return facts


def _overridden(values: Mapping[str, OptionValue]) -> str:
    named = json.loads(str(values.get("hf-overrides", "{}"))).get("architectures")
    return str(named[0]) if isinstance(named, list) and named else ""


def pooling(facts: ModelFacts) -> Abilities:
    is_embedding = facts.kind == "embedding"
    return Abilities(
        paths=POOLED[facts.kind],
        input_modalities=("text",),
        output_modalities=("embedding" if is_embedding else "score",),
        tools=False,
        reasoning=False,
        json_schema=False,
        embedding_dimensions=facts.embedding_length if is_embedding else None,
    )
