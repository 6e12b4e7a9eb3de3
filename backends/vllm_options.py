"""What users may tell vLLM: its own long flags, as `vllm serve --help` of 0.23 to 0.32 names and describes them.

Those that are not in the table are passed on as they are, for the engine to judge, unless their name shows that they
would let it reach files, programs, hosts or code, or would say again what the platform says.
"""

import re
from collections.abc import Mapping

from backends.base import Option

_MEMORY = (
    Option("max-model-len", "int", "tokens of one request, prompt and answer together; the model's own unless set"),
    Option("gpu-memory-utilization", "float", "share of a device's memory that the engine reserves (0.9)"),
    Option("max-num-batched-tokens", "int", "tokens that are worked on in one step"),
    Option("max-num-seqs", "int", "requests that are worked on at once"),
    Option("block-size", "int", "tokens in one block of the cache"),
    Option("kv-cache-dtype", "str", "type of the cache: auto, fp8, fp8_e4m3, fp8_e5m2, bfloat16, ..."),
    Option("enable-chunked-prefill", "bool", "cut long prompts into several steps"),
    Option("enable-prefix-caching", "bool", "keep the cache of prompts that begin alike"),
    Option("cpu-offload-gb", "float", "GiB of weights of each device that are kept in RAM"),
    Option("enforce-eager", "bool", "capture no graphs"),
)
_PARALLEL = (
    Option("tensor-parallel-size", "int", "devices that share each layer"),
    Option("pipeline-parallel-size", "int", "groups of devices that take the layers in turn"),
    Option("data-parallel-size", "int", "copies of the attention layers in one replica"),
    Option("enable-expert-parallel", "bool", "spread experts over all devices instead of cutting each"),
    Option("distributed-executor-backend", "choice", "how ranks are started", choices=("mp", "ray", "uni")),
    Option("disable-custom-all-reduce", "bool", "leave sums between devices to the library"),
)
_MODEL = (
    Option("dtype", "choice", "type to compute in", choices=("auto", "bfloat16", "float16", "half", "float32")),
    Option("quantization", "str", "how the weights are quantised, where config.json does not say"),
    Option("load-format", "choice", "format of the weights", choices=("auto", "safetensors", "pt", "dummy", "mistral")),
    Option("hf-overrides", "json", "values instead of those in config.json"),
    Option("tokenizer-mode", "str", "auto, mistral, ..."),
    Option("runner", "choice", "what the model is used for", choices=("auto", "generate", "pooling")),
    Option("convert", "choice", "make a text model embed or classify", choices=("auto", "none", "embed", "classify")),
    Option("seed", "int", "seed of the random numbers"),
    Option("enable-lora", "bool", "serve adapters"),
    Option("lora-adapters", "json", 'adapters beside the weights, served as MODEL:NAME: {"NAME": "/directory"}'),
    Option("max-loras", "int", "adapters in one batch"),
    Option("max-lora-rank", "int", "largest rank of an adapter"),
    Option("limit-mm-per-prompt", "json", "pictures, videos and sounds in one request"),
    Option("mm-processor-kwargs", "json", "for the model's own processor of pictures"),
    Option("additional-config", "json", "what a platform plugin such as vLLM-Ascend takes"),
    Option("compilation-config", "json", "which graphs are captured: cudagraph_mode and sizes only"),
    Option("speculative-config", "json", "guess tokens ahead by the model's own draft layers or by the prompt"),
)
_SERVING = (
    Option("enable-auto-tool-choice", "bool", "let the model call tools by itself; needs tool-call-parser"),
    Option("tool-call-parser", "str", "how the model spells calls of tools, such as hermes; none: they are not read"),
    Option("reasoning-parser", "str", "how the model spells reasoning, such as qwen3; none: it stays in the answer"),
    Option("chat-template", "text", "the template itself (Jinja), instead of the one that came with the weights"),
    Option("default-chat-template-kwargs", "json", 'variables of the template, such as {"enable_thinking": false}'),
    Option("chat-template-content-format", "choice", "as the template wants it", choices=("auto", "string", "openai")),
    Option("long-prefill-token-threshold", "int", "from how many tokens a prompt counts as long"),
    Option("structured-outputs-config", "json", "how answers are held to a grammar"),
    Option("pooler-config", "json", "how a pooling model pools"),
    Option("eplb-config", "json", "how experts are balanced over devices"),
    Option("scheduling-policy", "choice", "which request is next", choices=("fcfs", "priority")),
    Option("async-scheduling", "bool", "plan the next step while one runs"),
    Option("max-logprobs", "int", "most log probabilities that a request may ask for"),
    Option("generation-config", "choice", "whose defaults of sampling count", choices=("auto", "vllm")),
    Option("override-generation-config", "json", "defaults of sampling"),
    Option("enable-prompt-tokens-details", "bool", "tell in usage how many tokens came from the cache"),
    Option("disable-log-stats", "bool", "print no figures"),
    Option("enable-log-requests", "bool", "print every request"),
)
KNOWN: Mapping[str, Option] = {each.name: each for each in (*_MEMORY, *_PARALLEL, *_MODEL, *_SERVING)}

SWITCHES = frozenset({"disable-log-stats"})
"""Those that can only be set: there is no `--no-...` form."""

FORBIDDEN = frozenset(
    {
        # what the platform says itself, and what would say again how much is reserved, where, and of what
        *("host", "port", "uds", "api-key", "served-model-name", "model", "tokenizer", "root-path", "headless", "grpc"),
        *("device-memory-utilization", "kv-cache-memory-bytes", "num-gpu-blocks-override", "device-ids", "nnodes"),
        *("node-rank", "data-parallel-rank", "data-parallel-start-rank", "data-parallel-size-local", "spec-model"),
        *("data-parallel-backend", "data-parallel-external-lb", "data-parallel-hybrid-lb", "kv-offloading-size"),
        *("kv-offloading-backend", "api-server-count", "prefill-context-parallel-size", "help", "json-arg"),
        *("decode-context-parallel-size", "revision", "code-revision", "tokenizer-revision", "config-format"),
        # what loads code
        *("trust-remote-code", "trust-request-chat-template", "trust-request-mm-kwargs", "worker-cls", "middleware"),
        *("worker-extension-cls", "scheduler-cls", "logits-processors", "model-class-overrides", "tool-parser-plugin"),
        *("reasoning-parser-plugin", "io-processor-plugin", "compilation-config", "kernel-config", "tool-server"),
        *("enable-prompt-embeds", "enable-mm-embeds", "kv-transfer-config", "ec-transfer-config", "ec-manager-config"),
        *("weight-transfer-config", "model-loader-extra-config", "quantization-config", "attention-config"),
        # what reads or writes files
        *("config", "hf-token", "hf-config-path", "download-dir", "lora-modules", "default-mm-loras", "chat-template"),
        *("allowed-local-media-path", "speculative-config", "log-config-file", "logging-config", "profiler-config"),
        *("ssl-ca-certs", "ssl-cert-reqs", "ssl-certfile", "ssl-ciphers", "ssl-keyfile", "enable-ssl-refresh"),
        *("mm-encoder-fp8-scale-path", "mm-encoder-fp8-scale-save-path", "ray-workers-use-nsight", "engram-config"),
        *("enable-trace-replay", "aux-output-config", "watermark-config", "diffusion-config"),
        # what opens hosts, or tells others
        *("allowed-media-domains", "otlp-traces-endpoint", "collect-detailed-traces", "kv-events-config"),
        *("data-parallel-address", "data-parallel-rpc-port", "data-parallel-multi-port-external-lb", "master-addr"),
        *("data-parallel-supervisor-port", "master-port", "grpc-port", "fault-tolerance-config"),
        *("enable-tokenizer-info-endpoint", "enable-sleep-mode", "enable-tower-connector-lora"),
    }
)
"""Every one that vLLM 0.23 and 0.32 have, so that the beginning of a name is known as one too."""
SUSPECT = frozenset(
    {
        *("host", "port", "address", "url", "uri", "endpoint", "domain", "domains", "socket", "uds", "ip", "nodes"),
        *("path", "dir", "file", "files", "certfile", "keyfile", "ssl", "ca", "token", "key", "config", "plugin"),
        *("plugins", "middleware", "cls", "class", "module", "modules", "code", "trust", "executor", "rpc", "master"),
        *("profile", "profiler", "trace", "traces", "debug", "remote", "connector", "server", "tokenizer", "revision"),
    }
)
"""Words that show what an option that nobody here has looked at would do."""
FORBIDDEN_VARIABLES = re.compile(
    r"^(VLLM_(API_KEY|HOST_IP|PORT|ALLOW_.*|RPC_.*|.*(PATH|DIR|ROOT|PLUGIN|INSECURE).*)"
    r"|HF_.*|TRANSFORMERS_.*|TORCH_.*|RAY_.*|NCCL_.*FILE)$"
)
