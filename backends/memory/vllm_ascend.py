"""vLLM-Ascend's numbers for vLLM's arithmetic; its worker/worker.py determines the budget in the same way.

Blocks are of 128 tokens (platform.py sets the block size where the user does not). HCCL holds two buffers of
HCCL_BUFFSIZE (200 MB unless set) for its communicator.
"""

from collections.abc import Mapping

from backends.memory.vllm import MIB, Reserving
from backends.options import OptionValue

BLOCK = 128
RUNTIME_BYTES = 1900 * MIB
"""CANN's context, operators and workspaces. vllm-ascend#9372: of 28.8 GiB budget and 27.54 GiB weights -0.87 were left
for the cache of Qwen3-14B, so 2.13 GiB went elsewhere, of which the activation of 2048 tokens is 0.27."""
GRAPH_BYTES = 300 * MIB
"""An allowance: "ACL graph pool memory: 0.23 GiB (actual), 0.29 GiB (estimated)" (vllm-ascend#11514), 0.04 for a small
model (vllm-ascend#8289, since which it comes out of the budget)."""
LINK_BYTES = 2 * 200 * 1000**2


def reserving(values: Mapping[str, OptionValue]) -> Reserving:
    return Reserving(values, frozenset({"ascend"}), BLOCK, RUNTIME_BYTES, LINK_BYTES)
