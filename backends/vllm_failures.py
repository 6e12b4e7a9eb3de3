"""What vLLM and vLLM-Ascend print when they fail; causes stand before their consequences."""

from backends.failures import COMMON, Failure

_INDIVISIBLE = r"attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size \((?P<size>\d+)\)"
_TOO_LONG = (
    r"(?:estimated maximum model length is|the maximum model length is|the derived max_model_len \(\w+=)"
    r" *(?P<at_most>\d+)"
)
_UNKNOWN = r"[Mm]odel architectures \[?'?(?P<architecture>[^'\]]*)'?\]? (?:are not supported|failed to be inspected)"
_NO_CACHE = r"No available memory for the cache blocks|Available KV cache memory: -"

VLLM = (
    Failure("engine_option_refused", r"error: (?:unrecognized arguments|argument |ambiguous option)"),
    Failure("engine_context_too_long", _TOO_LONG),
    Failure("engine_no_cache_left", _NO_CACHE),
    Failure("engine_device_not_free", r"Free memory on device .* is less than desired"),
    Failure("engine_heads_indivisible", _INDIVISIBLE),
    Failure("engine_unknown_architecture", _UNKNOWN),
    Failure("engine_needs_remote_code", r"trust_remote_code=True|--trust-remote-code"),
    Failure("engine_dtype_unsupported", r"[Bb]float16 is only supported on|does not support bfloat16"),
    Failure("engine_out_of_memory", r"(?:CUDA|NPU|HIP) out of memory|OutOfMemoryError|out of memory"),
    Failure("engine_no_device", r"Failed to infer device type|No CUDA GPUs are available|no NVIDIA driver"),
    Failure("engine_port_in_use", r"[Aa]ddress already in use"),
    Failure("engine_file_truncated", r"SafetensorError|incomplete metadata|header too large"),
    *COMMON,
)
CANN = (
    Failure("engine_driver_not_ready", r"ret is -8005|DrvMngGetConsoleLogLevel failed"),
    Failure("engine_device_occupied", r"ret is -8020"),
    Failure("engine_library_missing", r"(?P<library>lib(?:atb|ascend_hal|ascendcl|hccl|c_sec)\.so\S*)"),
    Failure("engine_device_not_visible", r"input data rang\[0-(?P<count>\d+)\)|[Ii]nvalid device ?[Ii][Dd]"),
    Failure("engine_threads_refused", r"pthread_create failed|can't start new thread"),
    Failure("engine_streams_exhausted", r"\b207008\b"),
    Failure("engine_device_start_failed", r"\b507033\b"),
    Failure("engine_link_failed", r"HCCL.*(?:timeout|time out)|EI0006|EI0002"),
)
"""Of CANN and its driver, under whatever engine, as their users reported it."""
