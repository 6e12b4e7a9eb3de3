"""What MindIE prints when it fails; causes stand before their consequences.

Sources: MindIE-LLM src/config_manager and src/server (its messages), docs/en/faq/faq.md, and logs that users of it and
of GPUStack reported (gpustack#2552, #3153, #3894, #4075).
"""

from backends import vllm_failures
from backends.failures import COMMON, Failure

_TYPE = r"The type of param (?P<key>\S+) should be (?P<expected>[^,]+), but got (?P<value>\S+)"
_GREATER = r"The (?P<key>\w+) cannot be set greater than (?P<expected>\w+)"
_RANGE = r"The value of param (?P<key>\S+) for (?P<expected>\S+) is invalid"
_OUTSIDE = r"(?:serverConfig|scheduleParam|modelParam|backendConfig)\.(?P<key>\w+)"
_SHM = r"[Ss]hared memory size is not enough|Failed to (?:open|create).*share(?:d)? memory"
_PYTHON = r"LLMPythonModel initializes fail|pybind11::error_already_set|cannot import name|ImportError"
_ACCESS = r"[Cc]heck[ _](?:path: config\.json failed|[Oo]ther group permission failed)|MIE04E01"

MINDIE: tuple[Failure, ...] = (
    Failure("mindie_bfloat16", r"does not support bfloat16"),
    Failure("mindie_key_missing", r"missing compulsory field: (?P<key>\S+)"),
    Failure("mindie_key_wrong", _TYPE),
    Failure("mindie_key_above", _GREATER),
    Failure("mindie_key_wrong", _RANGE),
    Failure("mindie_key_outside", _OUTSIDE),
    Failure("mindie_device_ids", r"npuDeviceIds|npu_ids should not be"),
    Failure("mindie_rank_table", r"[Rr]ank ?table|server_count|RANK_TABLE_FILE"),
    Failure("mindie_tls", r"tlsC(?:ert|aFile|rlFiles) (?:init error|path)|Failed to load .*(?:cert|tls)"),
    Failure(
        "mindie_shared_memory", r"[Ss]hared memory size is not enough|Failed to (?:open|create).*share(?:d)? memory"
    ),
    Failure("mindie_tokenizer", r"Init tokenizer processes failed|Failed to init tokenizer"),
    Failure("engine_port_in_use", r"MIE04E02041C|Failed to listen|Socket bind failed"),
    Failure("mindie_blocks", r"out of memory, need block"),
    *vllm_failures.CANN,
    Failure("mindie_out_of_memory", r"NPU out of memory|out of memory"),
    Failure("mindie_versions_differ", r"undefined symbol"),
    Failure(
        "mindie_python", r"LLMPythonModel initializes fail|pybind11::error_already_set|cannot import name|ImportError"
    ),
    Failure(
        "mindie_permission", r"[Cc]heck[ _](?:path: config\.json failed|[Oo]ther group permission failed)|MIE04E01"
    ),
    *COMMON,
    Failure("mindie_said", r"\[(?P<code>MIE\w{8,})\]"),
)
