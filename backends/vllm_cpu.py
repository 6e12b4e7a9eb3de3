"""vLLM without an accelerator: what it takes of RAM, and the variables by which it is told so."""

from collections.abc import Mapping
from math import ceil

from backends import parallel
from backends.base import Estimate, Placed
from backends.memory import fitting
from backends.memory.ranks import Ranks
from backends.memory.vllm import GIB, POOLED_KINDS, Settings, cache_bytes, memory, settings
from backends.options import OptionValue
from gpustack_lite.domain import Claim, ModelFacts

RUNTIME_BYTES = int(1.68 * GIB)
"""The API server, the core and one rank, what they share counted once: of three loads with 0.32 on x86-64 the most."""
RANK_BYTES = int(0.95 * GIB)
"""Each further rank."""
BLOCK = 128


def on_cpu(facts: ModelFacts, values: Mapping[str, OptionValue], wish: fitting.Asked) -> Estimate:
    """Weights, cache and activations lie in RAM; each rank keeps a cache of whole GiB (VLLM_CPU_KVCACHE_SPACE).

    Raises:
        Refusal: `heads_not_divisible` and its like, `cannot_estimate`.
    """
    parallel.check_tensor_size(facts, wish.tensor or 1)
    ranks = wish.ranks(wish.tensor or 1)
    trained = facts.trained_context_length or fitting.DEFAULT_LONGEST
    context = wish.context or min(trained, 2 * fitting.LEAST_CONTEXT)
    runtime = (RUNTIME_BYTES + (ranks.devices - 1) * RANK_BYTES) // ranks.devices
    found = memory(facts, ranks, _chosen(facts, values, context), context, runtime)
    needed = found.total_bytes - found.kv_bytes + _cache_gib(facts, values, context, ranks) * GIB * ranks.devices
    return Estimate(Claim(ram_bytes=needed, device_kinds=frozenset({"cpu"})), found, context, fitting.sizes(ranks))


def cpu_env(placed: Placed, values: Mapping[str, OptionValue], wish: fitting.Asked) -> dict[str, str]:
    ranks = wish.ranks(wish.tensor or 1)
    several = {} if ranks.devices == 1 else {"VLLM_CPU_OMP_THREADS_BIND": threads(ranks.devices, placed.cpu_count)}
    if placed.facts is None:
        return several
    space = _cache_gib(placed.facts, values, placed.context_length or 1, ranks)
    return {"VLLM_CPU_KVCACHE_SPACE": str(space), **several}


def threads(ranks: int, cpu_count: int) -> str:
    """Which cores each rank computes on: its own share, for left to itself vLLM wants a NUMA node for each."""
    share = max(cpu_count // ranks, 1)
    firsts = [rank * share % cpu_count for rank in range(ranks)]
    return "|".join(str(first) if share == 1 else f"{first}-{first + share - 1}" for first in firsts)


def _chosen(facts: ModelFacts, values: Mapping[str, OptionValue], context: int) -> Settings:
    return settings(values, 0, context, block=BLOCK, pools=facts.kind in POOLED_KINDS)


def _cache_gib(facts: ModelFacts, values: Mapping[str, OptionValue], context: int, ranks: Ranks) -> int:
    return max(ceil(cache_bytes(facts, ranks, _chosen(facts, values, context), context) / GIB), 1)
