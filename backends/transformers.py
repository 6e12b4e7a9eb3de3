"""Transformers on the CPU, under a runner of ours: the baseline for comparisons, and for what no other engine reads.

`transformers serve` loads whatever model a request names, from the hub if need be; our runner serves the one it has.
"""

from collections.abc import Mapping, Sequence

from backends import runners
from backends.base import Backend, Estimate, Option, Placed, Want
from backends.failures import first_known
from backends.memory.ranks import Ranks, kv_bytes_per_token
from backends.options import OptionValue, check_env, checked
from backends.runners import MIB
from gpustack_lite.domain import Abilities, BackendVersion, DeviceKind, LaunchSpec, ModelFacts, Options, Sentence
from gpustack_lite.errors import Refusal

RUNNER = "transformers_server.py"
WRITES = frozenset({"/v1/chat/completions", "/v1/completions"})
EMBEDS = frozenset({"/v1/embeddings"})
KNOWN: Mapping[str, Option] = {
    each.name: each
    for each in (
        Option("max-model-len", "int", "tokens of one request, the answer included"),
        Option("dtype", "choice", "type to compute in", choices=("auto", "float32", "bfloat16", "float16")),
        Option("attn-implementation", "choice", "whose attention is used", choices=("eager", "sdpa")),
    )
}
LONGEST_DEFAULT_CONTEXT = 4096
_PROCESS_BYTES = 640 * MIB
"""Measured: torch 2.13 and transformers 5.24, imported."""
_SCORES_BYTES = 4


class Transformers:
    name = "transformers"
    device_kinds: frozenset[DeviceKind] = frozenset({"cpu"})
    paths = WRITES | EMBEDS
    needs_facts = True
    needs_files = True
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        """Nothing that is made unasked: torch is large. `backends install` makes it."""
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        checked(options, KNOWN, frozenset())
        check_env(env, runners.FORBIDDEN_VARIABLES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        values = checked(want.options, KNOWN, frozenset())
        known, context = _readable(facts), _context(facts, values)
        item = 4 if values.get("dtype") == "float32" or known.dtype == "float32" else 2
        widened = 2 if values.get("dtype") == "float32" and known.dtype in {"bfloat16", "float16"} else 1
        width = 5 * (known.embedding_length or 0) + 3 * (known.feed_forward_length or 0)
        scores = (known.head_count or 0) * context * context if values.get("attn-implementation") == "eager" else 0
        cache = 0 if known.kind == "embedding" else 2 * context * kv_bytes_per_token(known, Ranks(), item)
        work = context * width * item + scores * _SCORES_BYTES + (known.vocab_size or 0) * 4 * 4 + cache
        return (runners.in_ram(runners.weights_of(known) * widened, work, _PROCESS_BYTES, context=context),)

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        self.check(options, {})
        embeds = facts is not None and facts.kind == "embedding"
        return Abilities(
            paths=EMBEDS if embeds else WRITES,
            input_modalities=("text",),
            output_modalities=("embedding",) if embeds else ("text",),
            tools=False,
            reasoning=False,
            json_schema=False,
            embedding_dimensions=facts.embedding_length if facts is not None and embeds else None,
        )

    def launch(self, placed: Placed) -> LaunchSpec:
        values = checked(placed.options, KNOWN, frozenset())
        embeds = placed.facts is not None and placed.facts.kind == "embedding"
        said: dict[str, OptionValue] = {**values, "task": "embed" if embeds else "generate"}
        if placed.context_length:
            said["max-model-len"] = placed.context_length
        return runners.launch(placed, RUNNER, said, deadline_seconds=300.0)

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(runners.FAILURES, log_lines)


def _readable(facts: ModelFacts | None) -> ModelFacts:
    """Raises:
    Refusal: `cannot_estimate` or `engine_serves_other_models`.
    """
    if facts is None or facts.format != "hf":
        raise Refusal("cannot_estimate", path=facts.path if facts else None, missing="config.json")
    if facts.kind not in {"llm", "embedding"}:
        kinds, said = "llm, embedding", facts.kind
        raise Refusal("engine_serves_other_models", param="backend", backend="transformers", kinds=kinds, said=said)
    return facts


def _context(facts: ModelFacts | None, values: Mapping[str, OptionValue]) -> int:
    trained = (facts.trained_context_length if facts is not None else None) or LONGEST_DEFAULT_CONTEXT
    wanted = int(values.get("max-model-len", 0))
    if wanted > trained:
        raise Refusal("context_beyond_training", param="options.max-model-len", wanted=wanted, trained=trained)
    return wanted if wanted > 0 else min(trained, LONGEST_DEFAULT_CONTEXT)


TRANSFORMERS: Backend = Transformers()
