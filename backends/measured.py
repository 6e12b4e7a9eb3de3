"""What engines print about the memory that they allocated, read from their own log lines.

Recorded output is in tests/unit/backends/test_measured.py. Engines that say nothing are measured by readings alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from gpustack_lite.domain import Allocated

MIB = 1024**2
GIB = 1024**3

_BUFFER = re.compile(r"\s(?P<device>\w+) +(?P<what>model|KV|RS|output|compute) buffer size = *(?P<mib>[\d.]+) MiB")
_CELLS = re.compile(r"size = *(?P<mib>[\d.]+) MiB \( *(?P<cells>\d+) cells, .*?(?P<sequences>\d+)(?:/\d+)? seqs\)")
_LOADING = "loading model tensors"

_VLLM_WEIGHTS = re.compile(
    r"(?:[Mm]odel loading|model weights) (?:took|take) *(?P<gib>[\d.]+) ?Gi?B|(?P<other>[\d.]+) GiB for weights"
)
_VLLM_CACHE = re.compile(
    r"(?:(?:Available|Current) KV cache memory: |memory reserved for KV Cache is )(?P<gib>[\d.]+) ?GiB"
)
_VLLM_CPU_CACHE = re.compile(r"set \((?P<gib>[\d.]+)/[\d.]+\) GiB for KV cache")
_VLLM_TOKENS = re.compile(r"KV cache size: (?P<tokens>[\d,]+) tokens")
_VLLM_GRAPHS = re.compile(
    r"Graph capturing finished in [\d.]+ secs?, took (?P<gib>[\d.]+) GiB|graph pool memory: (?P<other>[\d.]+) GiB"
)
_VLLM_PEAK = re.compile(
    r"(?:torch peak memory increase: |activation peak memory takes )(?P<gib>[\d.]+) ?GiB"
    r"|(?P<other>[\d.]+) GiB for peak activation"
)
_VLLM_NON_TORCH = re.compile(
    r"(?:non-torch forward increase memory: |non_torch_memory takes )(?P<gib>[\d.]+) ?GiB"
    r"|(?P<other>[\d.]+) GiB for non-torch memory"
)


def measured(backend: str, log_lines: Sequence[str]) -> Allocated:
    """Empty where the engine said nothing that we know, whichever engine it is."""
    parse = _BY_ENGINE.get(backend)
    return Allocated() if parse is None else parse(log_lines)


def llama_cpp(log_lines: Sequence[str]) -> Allocated:
    """By buffer and device (llama-model.cpp, llama-kv-cache.cpp, llama-context.cpp); the last load counts.

    Buffers of one name are summed, for a cache of windows stands beside that of whole layers; compute buffers are
    reserved again and again, and the last of each device is the one that it keeps.
    """
    found = _buffers(_last_load(log_lines))
    if not found:
        return Allocated()
    devices = {device for device, _ in found if not _is_host(device)}
    return Allocated(
        weights_bytes=_sum(found, {"model"}),
        kv_bytes=_sum(found, {"KV", "RS"}),
        kv_bytes_per_token=_per_token(_last_load(log_lines)),
        activation_bytes=_sum(found, {"compute"}),
        overhead_bytes=_sum(found, {"output"}),
        bytes_per_device=max((_of_device(found, each) for each in devices), default=None),
        ram_bytes=sum(size for (device, _), size in found.items() if _is_host(device)),
    )


def _last_load(log_lines: Sequence[str]) -> Sequence[str]:
    begins = [number for number, line in enumerate(log_lines) if _LOADING in line]
    return log_lines[begins[-1] :] if begins else log_lines


def _buffers(log_lines: Sequence[str]) -> Mapping[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for match in filter(None, map(_BUFFER.search, log_lines)):
        key, size = (match["device"], match["what"]), round(float(match["mib"]) * MIB)
        found[key] = size if match["what"] == "compute" else found.get(key, 0) + size
    return found


def _is_host(device: str) -> bool:
    """CPU, CPU_Mapped, CPU_REPACK, and what a device's driver keeps in the machine's memory (CUDA_Host)."""
    return device.startswith("CPU") or device.endswith("_Host")


def _of_device(found: Mapping[tuple[str, str], int], device: str) -> int:
    return sum(size for (name, _), size in found.items() if name == device)


def _sum(found: Mapping[tuple[str, str], int], names: set[str]) -> int:
    return sum(size for (_, what), size in found.items() if what in names)


def _per_token(log_lines: Sequence[str]) -> int | None:
    """Of the caches that keep every token: those with the most cells."""
    caches = [
        (int(match["cells"]), float(match["mib"]) * MIB / (int(match["cells"]) * int(match["sequences"])))
        for match in filter(None, map(_CELLS.search, log_lines))
        if int(match["cells"])
    ]
    longest = max((cells for cells, _ in caches), default=0)
    return round(sum(size for cells, size in caches if cells == longest)) or None


def vllm(log_lines: Sequence[str]) -> Allocated:
    """Of the fullest rank, whichever of them printed it (v1/worker/gpu_worker.py, gpu_model_runner.py).

    Some versions say all terms in one sentence, others the peak at level DEBUG only. What is available for the cache is
    given to the cache whole.
    """
    kv_bytes = _most(_VLLM_CACHE, log_lines) or _most(_VLLM_CPU_CACHE, log_lines)
    tokens = _tokens(log_lines)
    return Allocated(
        weights_bytes=_most(_VLLM_WEIGHTS, log_lines),
        kv_bytes=kv_bytes,
        kv_bytes_per_token=kv_bytes // tokens if kv_bytes and tokens else None,
        activation_bytes=_most(_VLLM_PEAK, log_lines),
        graph_bytes=_most(_VLLM_GRAPHS, log_lines),
        overhead_bytes=_most(_VLLM_NON_TORCH, log_lines),
    )


def _tokens(log_lines: Sequence[str]) -> int | None:
    found = [int(match["tokens"].replace(",", "")) for match in filter(None, map(_VLLM_TOKENS.search, log_lines))]
    return min(found, default=None)


def _most(pattern: re.Pattern[str], log_lines: Sequence[str]) -> int | None:
    found = [float(_first_group(match)) for match in filter(None, map(pattern.search, log_lines))]
    return round(max(found) * GIB) if found else None


def _first_group(match: re.Match[str]) -> str:
    return next(each for each in match.groups() if each is not None)


_BY_ENGINE: Mapping[str, Callable[[Sequence[str]], Allocated]] = {
    "llama_cpp": llama_cpp,
    "vllm": vllm,
    "vllm_ascend": vllm,
}
"""MindIE and SGLang print no sizes in any log that we have seen: readings of their devices stand alone."""
