"""The long flags of llama-server that a user may set, and those that are refused (llama-server --help, b11434)."""

from collections.abc import Mapping

from backends.base import Option, OptionKind

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
"""Allowed values of --cache-type-k and --cache-type-v."""

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "cache-type-k": CACHE_TYPES,
    "cache-type-v": CACHE_TYPES,
    "flash-attn": ("on", "off", "auto"),
    "load-mode": ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio"),
    "numa": ("distribute", "isolate", "numactl"),
    "pooling": ("none", "mean", "cls", "last", "rank"),
    "reasoning": ("on", "off", "auto"),
    "reasoning-format": ("none", "auto", "deepseek", "deepseek-legacy"),
    "rope-scaling": ("none", "linear", "yarn"),
    "split-mode": ("none", "layer", "row"),
}

_ROWS: tuple[tuple[str, OptionKind, str], ...] = (
    ("batch-size", "int", "logical maximum batch size"),
    ("cache-idle-slots", "bool", "save idle slots to the prompt cache"),
    ("cache-prompt", "bool", "reuse the common beginning of prompts"),
    ("cache-ram", "int", "MiB of RAM for prompts that no slot holds any more; 0 unless given"),
    ("cache-reuse", "int", "least chunk to reuse from the cache by shifting"),
    ("cache-type-k", "choice", "type of the K cache"),
    ("cache-type-v", "choice", "type of the V cache"),
    ("chat-template", "str", "a built-in template's name, or a Jinja template"),
    ("chat-template-kwargs", "json", "an object handed to the chat template"),
    ("check-tensors", "bool", "look for invalid values while loading"),
    ("checkpoint-min-step", "int", "least tokens between two context checkpoints"),
    ("cont-batching", "bool", "continuous batching"),
    ("context-shift", "bool", "forget the oldest tokens of an endless answer"),
    ("ctx-checkpoints", "int", "context checkpoints per slot of a model with a sliding window or recurrent layers"),
    ("ctx-size", "int", "tokens of context over all slots; max-model-len is the context of one request"),
    ("dry-allowed-length", "int", "DRY sampling: allowed length"),
    ("dry-base", "float", "DRY sampling: base"),
    ("dry-multiplier", "float", "DRY sampling: multiplier"),
    ("dry-penalty-last-n", "int", "DRY sampling: tokens looked at"),
    ("dynatemp-exp", "float", "dynamic temperature: exponent"),
    ("dynatemp-range", "float", "dynamic temperature: range"),
    ("embd-normalize", "int", "normalisation of embeddings (-1 none, 2 euclidean)"),
    ("embeddings", "bool", "serve embeddings only"),
    ("flash-attn", "choice", "flash attention"),
    ("frequency-penalty", "float", "default frequency penalty"),
    ("ignore-eos", "bool", "do not stop at the end-of-text token"),
    ("jinja", "bool", "use the model's Jinja chat template"),
    ("keep", "int", "tokens of the first prompt that a context shift keeps"),
    ("kv-offload", "bool", "keep the KV cache on the device"),
    ("kv-unified", "bool", "one KV cache shared by all slots: each may use all of ctx-size, together not more"),
    ("load-mode", "choice", "how the file is read"),
    ("main-gpu", "int", "the device of split-mode none"),
    ("max-model-len", "int", "tokens of context of one request"),
    ("metrics", "bool", "the engine's own metrics"),
    ("min-p", "float", "default min-p"),
    ("mirostat", "int", "Mirostat sampling (0, 1, 2)"),
    ("mirostat-ent", "float", "Mirostat target entropy"),
    ("mirostat-lr", "float", "Mirostat learning rate"),
    ("n-gpu-layers", "str", "layers on the device: a number, auto or all"),
    ("n-predict", "int", "default for the longest answer, in tokens"),
    ("numa", "choice", "NUMA strategy"),
    ("op-offload", "bool", "offload host tensor operations"),
    ("parallel", "int", "requests served at the same time (slots); 4 unless given"),
    ("perf", "bool", "internal timings"),
    ("pooling", "choice", "pooling of embeddings"),
    ("prefill-assistant", "bool", "continue a last message of the assistant"),
    ("presence-penalty", "float", "default presence penalty"),
    ("reasoning", "choice", "thinking in the chat"),
    ("reasoning-budget", "int", "tokens for thinking; -1 unlimited"),
    ("reasoning-format", "choice", "where thoughts are returned"),
    ("repack", "bool", "re-order weights for faster products"),
    ("repeat-last-n", "int", "tokens that the repetition penalty looks at"),
    ("repeat-penalty", "float", "default repetition penalty"),
    ("reranking", "bool", "serve reranking"),
    ("rope-freq-base", "float", "RoPE base frequency"),
    ("rope-freq-scale", "float", "RoPE frequency scaling factor"),
    ("rope-scale", "float", "RoPE context scaling factor"),
    ("rope-scaling", "choice", "RoPE scaling method"),
    ("seed", "int", "default seed; -1 random"),
    ("skip-chat-parsing", "bool", "put everything into the content of an answer"),
    ("sleep-idle-seconds", "int", "seconds of idleness after which the engine unloads"),
    ("slot-prompt-similarity", "float", "how alike prompts must be to share a slot"),
    ("slots", "bool", "the engine's own slots endpoint"),
    ("special", "bool", "output special tokens"),
    ("split-mode", "choice", "how to split over several devices"),
    ("sse-ping-interval", "int", "seconds between keep-alive comments in a stream"),
    ("swa-full", "bool", "full-size cache for layers with a sliding window"),
    ("temp", "float", "default temperature"),
    ("threads", "int", "CPU threads for generation"),
    ("threads-batch", "int", "CPU threads for prompts"),
    ("threads-http", "int", "threads for HTTP requests"),
    ("timeout", "int", "read and write timeout in seconds"),
    ("top-k", "int", "default top-k"),
    ("top-p", "float", "default top-p"),
    ("typical", "float", "default locally typical p"),
    ("ubatch-size", "int", "physical maximum batch size"),
    ("warmup", "bool", "an empty run before the first request"),
    ("xtc-probability", "float", "XTC sampling: probability"),
    ("xtc-threshold", "float", "XTC sampling: threshold"),
    ("yarn-attn-factor", "float", "YaRN attention factor"),
    ("yarn-beta-fast", "float", "YaRN beta fast"),
    ("yarn-beta-slow", "float", "YaRN beta slow"),
    ("yarn-ext-factor", "float", "YaRN extrapolation mix factor"),
    ("yarn-orig-ctx", "int", "YaRN original context size"),
    # known to the llama-server binary only
    ("cpu-moe", "bool", "keep all expert weights on the CPU"),
    ("cpu-range", "str", "CPUs to run on, lo-hi"),
    ("cpu-strict", "int", "strict CPU placement"),
    ("lazy-mode", "str", "on-demand reading of certain tensors"),
    ("n-cpu-moe", "int", "layers whose expert weights stay on the CPU"),
    ("override-tensor", "str", "tensor name pattern=buffer type"),
    ("poll", "int", "polling level, 0 to 100"),
    ("prio", "int", "priority of the threads"),
    ("reasoning-effort", "str", "effort handed to the chat template"),
    ("sampler-seq", "str", "simplified sequence of samplers"),
    ("samplers", "str", "samplers in their order, separated by ;"),
    ("tensor-split", "str", "share of each device, comma-separated"),
)

KNOWN: Mapping[str, Option] = {
    name: Option(name, kind, help_text, _CHOICES.get(name, ())) for name, kind, help_text in _ROWS
}
BINARY_ONLY = frozenset(name for name, _, _ in _ROWS[[row[0] for row in _ROWS].index("cpu-moe") :])
"""What the xllamacpp library has no parameter for."""
OURS = frozenset({"max-model-len"})
"""Spellings of the platform that are no flag of the engine."""
LONE_SWITCHES = frozenset(
    {"check-tensors", "cpu-moe", "embeddings", "ignore-eos", "metrics", "reranking", "special", "swa-full"}
)
"""Switches of the binary without a --no- form: off is to leave them out."""

FORBIDDEN = frozenset(
    {
        # set by the platform
        *("host", "port", "reuse-port", "api-key", "api-key-file", "api-prefix", "model", "alias", "tags", "device"),
        *("fit", "fit-target", "fit-ctx", "ui", "webui", "path", "cors-origins", "cors-methods", "cors-headers"),
        *("cors-credentials", "props", "log-disable", "log-file", "log-jsonl", "list-devices", "cache-list", "agent"),
        # would write prompts into logs
        *("verbose", "verbosity", "log-verbosity"),
        # read or write files, load code, or talk to other hosts
        *("model-url", "docker-repo", "hf-repo", "hf-file", "hf-token", "rpc", "lora", "lora-scaled", "offline"),
        *("control-vector", "control-vector-scaled", "mmproj", "mmproj-url", "chat-template-file", "grammar-file"),
        *("json-schema-file", "lookup-cache-static", "lookup-cache-dynamic", "ssl-key-file", "ssl-cert-file"),
        *("slot-save-path", "media-path", "models-dir", "models-preset", "log-prompts-dir", "ui-config-file"),
        *("webui-config-file", "ui-mcp-proxy", "webui-mcp-proxy", "tools", "tools-runtime", "mcp-servers-config"),
        *("mcp-servers-json", "video-ffmpeg-dir", "override-kv", "spec-draft-model", "model-draft", "spec-draft-hf"),
        *("hf-repo-draft", "embd-gemma-default", "gpt-oss-20b-default", "gpt-oss-120b-default", "spec-default"),
        *("fim-qwen-1.5b-default", "fim-qwen-3b-default", "fim-qwen-7b-default", "fim-qwen-7b-spec"),
        *("fim-qwen-14b-spec", "fim-qwen-30b-default", "vision-gemma-4b-default", "vision-gemma-12b-default"),
    }
)
