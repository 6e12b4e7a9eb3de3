"""What runs code, leaves the sandbox or speaks for the platform is refused, however it is spelt.

The roads: every request that holds options or variables goes through `Backend.check` before anything else is done with
them (`api/specs.py`), and the worker asks the same backend again before each launch (`worker/launching.py`).
"""

import re
from collections.abc import Iterator

import pytest

from backends import registry
from gpustack_lite.errors import Refusal

DANGEROUS = {
    "vllm": (
        *("trust-remote-code", "host", "port", "uds", "api-key", "served-model-name", "model", "tokenizer", "config"),
        *("worker-cls", "worker-extension-cls", "scheduler-cls", "middleware", "logits-processors", "root-path"),
        *("tool-parser-plugin", "reasoning-parser-plugin", "io-processor-plugin", "tool-server", "download-dir"),
        *("allowed-local-media-path", "allowed-media-domains", "hf-token", "hf-config-path", "lora-modules"),
        *("ssl-keyfile", "ssl-certfile", "ssl-ca-certs", "kv-transfer-config", "kv-events-config", "log-config-file"),
        *("otlp-traces-endpoint", "model-loader-extra-config", "enable-prompt-embeds", "profiler-config", "revision"),
        *("code-revision", "tokenizer-revision", "trust-request-chat-template", "data-parallel-address"),
        *("master-addr", "master-port", "enable-sleep-mode", "grpc", "headless", "quantization-config"),
    ),
    "sglang": (
        *("trust-remote-code", "host", "port", "api-key", "model-path", "tokenizer-path", "config", "download-dir"),
        *(
            "chat-template",
            "load-format",
            "custom-sigquit-handler",
            "admin-api-key",
            "log-requests",
            "file-storage-path",
        ),
        *("enable-custom-logit-processor", "model-loader-extra-config", "lora-paths", "dist-init-addr", "nccl-port"),
        *("tool-server", "crash-dump-folder", "kv-events-config", "ssl-keyfile", "preferred-sampling-params"),
    ),
    "llama_cpp": (
        *(
            "host",
            "port",
            "api-key",
            "api-key-file",
            "model",
            "model-url",
            "hf-repo",
            "hf-token",
            "rpc",
            "lora",
            "path",
        ),
        *("slot-save-path", "media-path", "log-file", "mmproj", "mmproj-url", "chat-template-file", "grammar-file"),
        *("ssl-key-file", "models-dir", "tools", "mcp-servers-config", "override-kv", "spec-draft-model", "props"),
        *("lookup-cache-dynamic", "control-vector", "ui-mcp-proxy", "log-prompts-dir", "verbose", "docker-repo"),
    ),
    "transformers": ("trust-remote-code", "host", "port", "model", "alias", "task", "token", "cache-dir"),
    "diffusers": ("trust-remote-code", "host", "port", "model", "custom-pipeline"),
    "speech": ("host", "port", "model", "threads"),
    "mindie": (
        *("trustRemoteCode", "port", "managementPort", "ipAddress", "modelWeightPath", "npuDeviceIds", "httpsEnabled"),
        *("tlsCert", "logPath", "interCommTLSEnabled", "allowAllZeroIpListening", "kvPoolConfig", "modelName"),
        *("BackendConfig.ModelDeployConfig.ModelConfig.0.trustRemoteCode", "ServerConfig.ipAddress"),
        *("BackendConfig.ModelDeployConfig.ModelConfig.trustRemoteCode", "ServerConfig.tlsCaPath"),
    ),
}
DANGEROUS["vllm_ascend"] = DANGEROUS["vllm"]
VARIABLES = (
    *(
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "PYTHONINSPECT",
        "PATH",
    ),
    *("BASH_ENV", "ENV", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY"),
    *("GLIBC_TUNABLES", "GCONV_PATH", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "OPENSSL_CONF", "SSL_CERT_FILE"),
    *("CUDA_INJECTION64_PATH", "OMP_TOOL_LIBRARIES", "NCCL_NET_PLUGIN", "ASCEND_CUSTOM_OPP_PATH", "GGML_BACKEND_PATH"),
    *("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "GPUSTACK_LITE_INSTANCE", "GPUSTACK_LITE_TOKEN"),
    *("TRITON_CACHE_DIR", "GIT_SSH_COMMAND", "UV_INDEX_URL", "PIP_INDEX_URL", "REQUESTS_CA_BUNDLE", "SPT_NOENV"),
)
NESTED = [
    ("additional-config", {"torchair_graph_config": {"dump_path": "/x"}}),
    ("additional-config", {"a": [{"profiler_dir": "/x"}]}),
    ("hf-overrides", {"auto_map": {"AutoModel": "evil--m.X"}}),
    ("hf-overrides", {"text_config": {"auto_map": {"AutoModel": "evil--m.X"}}}),
    ("hf-overrides", '{"trust_remote_code": true}'),
    ("mm-processor-kwargs", {"trust_remote_code": True}),
    ("override-generation-config", {"custom_generate": "evil/repo"}),
    ("compilation-config", {"inductor_passes": {"p": "os.system"}}),
    ("speculative-config", {"method": "draft_model", "model": "/etc"}),
    ("something-new", {"deep": {"trust_remote_code": True}}),
    ("chat-template", "/etc/passwd"),
    ("generation-config", "/etc"),
    ("lora-adapters", {"a": "../../etc"}),
    ("load-format", "runai_streamer"),
]


def spellings(flag: str) -> Iterator[str]:
    """As argparse, YAML and people write it: whatever an engine might take for the flag."""
    yield flag
    yield flag.replace("-", "_")
    yield f"--{flag}"
    yield f"-{flag}"
    yield f"--{flag}=1"
    yield f"{flag}=1"
    yield f"{flag} 1"
    yield f"{flag}.inner"
    yield f"no-{flag}"
    yield flag.upper()
    yield f" {flag}"
    yield f"{flag}\n"
    yield f"{flag}\0"
    yield re.sub(r"-([a-z])", lambda found: found[1].upper(), flag)
    yield f"@{flag}"
    yield f"{flag}\N{ZERO WIDTH SPACE}"


@pytest.mark.parametrize(("engine", "flag"), [(name, flag) for name, flags in DANGEROUS.items() for flag in flags])
def test_a_dangerous_option_is_refused_in_every_spelling(engine: str, flag: str) -> None:
    backend = registry.find(engine)
    for spelling in spellings(flag):
        for value in ("x", True, 1, {"a": 1}):
            with pytest.raises(Refusal):
                backend.check({spelling: value}, {})


@pytest.mark.parametrize("engine", ["vllm", "vllm_ascend"])
def test_no_beginning_of_a_dangerous_option_is_taken_for_it(engine: str) -> None:
    """argparse completes `--trust` to `--trust-remote-code` (argparse, allow_abbrev)."""
    backend = registry.find(engine)
    known = {option.name for option in backend.known_options}
    for flag in DANGEROUS["vllm"]:
        for length in range(1, len(flag)):
            if flag[:length] not in known:
                with pytest.raises(Refusal):
                    backend.check({flag[:length]: "x"}, {})


@pytest.mark.parametrize("engine", ["vllm", "vllm_ascend"])
@pytest.mark.parametrize(("option", "value"), NESTED)
def test_nothing_dangerous_hides_in_a_value(engine: str, option: str, value: object) -> None:
    with pytest.raises(Refusal):
        registry.find(engine).check({option: value}, {})


@pytest.mark.parametrize("engine", [name for name in registry.names() if name != "custom"])
@pytest.mark.parametrize("name", VARIABLES)
def test_a_dangerous_variable_is_refused_by_every_engine(engine: str, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        registry.find(engine).check({}, {name: "x"})
    assert refused.value.code == "env_not_allowed"


@pytest.mark.parametrize("name", VARIABLES)
def test_a_person_s_own_engine_is_given_none_either(name: str) -> None:
    with pytest.raises(Refusal, match="env_not_allowed"):
        registry.with_custom({"name": "mine", "command": ["x"]}).check({}, {name: "x"})
