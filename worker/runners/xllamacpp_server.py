"""Turns the xllamacpp library into a llama-server: the same long flags, the same API, one process.

Run by path in the engine's own environment (`python -I xllamacpp_server.py --model M --port P ...`), never imported by
the platform. The HTTP port opens before the weights are read and answers /health with 503 until they are. SIGTERM and
SIGINT keep their default action: nothing here needs saving, and the end must not wait for a load that takes minutes.
"""

import argparse
import ctypes
import json
import os
import signal
import sys


def _enum(enumeration, prefix, name):
    import xllamacpp

    return getattr(getattr(xllamacpp, enumeration), prefix + name.upper().replace("+", "_"))


def _enum_of(enumeration, prefix, **spelled):
    return lambda name: _enum(enumeration, prefix, spelled.get(name, name))


def _layers(text):
    return {"auto": -1, "all": 2**31 - 1}[text] if text in {"auto", "all"} else int(text)


def _template_arguments(text):
    """The library wants a mapping of names to JSON texts."""
    return {str(name): json.dumps(value) for name, value in json.loads(text).items()}


def _tri_state(text):
    return {"auto": -1, "off": 0, "on": 1}[text]


_FLASH = _enum_of("llama_flash_attn_type", "LLAMA_FLASH_ATTN_TYPE_", on="enabled", off="disabled")
_CACHE = _enum_of("ggml_type", "GGML_TYPE_")

# flag -> (path of the attribute below CommonParams, how its text becomes a value)
VALUES = {
    "alias": ("model_alias", lambda text: [text]),
    "batch-size": ("n_batch", int),
    "cache-ram": ("cache_ram_mib", int),
    "cache-reuse": ("n_cache_reuse", int),
    "cache-type-k": ("cache_type_k", _CACHE),
    "cache-type-v": ("cache_type_v", _CACHE),
    "chat-template": ("chat_template", str),
    "chat-template-kwargs": ("default_template_kwargs", _template_arguments),
    "checkpoint-min-step": ("checkpoint_min_step", int),
    "ctx-checkpoints": ("n_ctx_checkpoints", int),
    "ctx-size": ("n_ctx", int),
    "dry-allowed-length": ("sampling.dry_allowed_length", int),
    "dry-base": ("sampling.dry_base", float),
    "dry-multiplier": ("sampling.dry_multiplier", float),
    "dry-penalty-last-n": ("sampling.dry_penalty_last_n", int),
    "dynatemp-exp": ("sampling.dynatemp_exponent", float),
    "dynatemp-range": ("sampling.dynatemp_range", float),
    "embd-normalize": ("embd_normalize", int),
    "flash-attn": ("flash_attn_type", _FLASH),
    "frequency-penalty": ("sampling.penalty_freq", float),
    "host": ("hostnames", lambda text: [text]),
    "keep": ("n_keep", int),
    "load-mode": ("load_mode", _enum_of("llama_load_mode", "LLAMA_LOAD_MODE_", dio="direct_io")),
    "main-gpu": ("main_gpu", int),
    "min-p": ("sampling.min_p", float),
    "mirostat": ("sampling.mirostat", int),
    "mirostat-ent": ("sampling.mirostat_tau", float),
    "mirostat-lr": ("sampling.mirostat_eta", float),
    "model": ("model.path", str),
    "n-gpu-layers": ("n_gpu_layers", _layers),
    "n-predict": ("n_predict", int),
    "numa": ("numa", _enum_of("ggml_numa_strategy", "GGML_NUMA_STRATEGY_")),
    "parallel": ("n_parallel", int),
    "pooling": ("pooling_type", _enum_of("llama_pooling_type", "LLAMA_POOLING_TYPE_")),
    "port": ("port", int),
    "presence-penalty": ("sampling.penalty_present", float),
    "reasoning": ("enable_reasoning", _tri_state),
    "reasoning-budget": ("sampling.reasoning_budget_tokens", int),
    "reasoning-format": (
        "reasoning_format",
        _enum_of("common_reasoning_format", "COMMON_REASONING_FORMAT_", **{"deepseek-legacy": "deepseek_legacy"}),
    ),
    "repeat-last-n": ("sampling.penalty_last_n", int),
    "repeat-penalty": ("sampling.penalty_repeat", float),
    "rope-freq-base": ("rope_freq_base", float),
    "rope-freq-scale": ("rope_freq_scale", float),
    "rope-scale": ("rope_freq_scale", lambda text: 1 / float(text)),
    "rope-scaling": ("rope_scaling_type", _enum_of("llama_rope_scaling_type", "LLAMA_ROPE_SCALING_TYPE_")),
    "seed": ("sampling.seed", lambda text: int(text) % 2**32),
    "sleep-idle-seconds": ("sleep_idle_seconds", int),
    "slot-prompt-similarity": ("slot_prompt_similarity", float),
    "split-mode": ("split_mode", _enum_of("llama_split_mode", "LLAMA_SPLIT_MODE_")),
    "sse-ping-interval": ("sse_ping_interval", int),
    "temp": ("sampling.temp", float),
    "threads": ("cpuparams.n_threads", int),
    "threads-batch": ("cpuparams_batch.n_threads", int),
    "threads-http": ("n_threads_http", int),
    "timeout": ("timeout_read timeout_write", int),
    "top-k": ("sampling.top_k", int),
    "top-p": ("sampling.top_p", float),
    "typical": ("sampling.typ_p", float),
    "ubatch-size": ("n_ubatch", int),
    "xtc-probability": ("sampling.xtc_probability", float),
    "xtc-threshold": ("sampling.xtc_threshold", float),
    "yarn-attn-factor": ("yarn_attn_factor", float),
    "yarn-beta-fast": ("yarn_beta_fast", float),
    "yarn-beta-slow": ("yarn_beta_slow", float),
    "yarn-ext-factor": ("yarn_ext_factor", float),
    "yarn-orig-ctx": ("yarn_orig_ctx", int),
}

# flag -> attribute; written as --flag or --no-flag. A leading "!" means that the attribute says the opposite.
SWITCHES = {
    "cache-idle-slots": "cache_idle_slots",
    "cache-prompt": "cache_prompt",
    "check-tensors": "check_tensors",
    "cont-batching": "cont_batching",
    "context-shift": "ctx_shift",
    "embeddings": "embedding",
    "fit": "fit_params",
    "ignore-eos": "sampling.ignore_eos",
    "jinja": "use_jinja",
    "kv-offload": "!no_kv_offload",
    "kv-unified": "kv_unified",
    "metrics": "endpoint_metrics",
    "op-offload": "!no_op_offload",
    "perf": "!no_perf",
    "prefill-assistant": "prefill_assistant",
    "repack": "!no_extra_bufts",
    "reranking": "",
    "skip-chat-parsing": "force_pure_content_parser",
    "slots": "endpoint_slots",
    "special": "special",
    "swa-full": "swa_full",
    "warmup": "warmup",
    "webui": "ui",
}


# What it allocates, the library tells at this level only, and at this level it tells of every request too.
LOADING_VERBOSITY = 4
_SET_VERBOSITY = "_Z30common_log_set_verbosity_tholdi"


def parse(argv):
    parser = argparse.ArgumentParser(prog="xllamacpp_server", allow_abbrev=False)
    for flag in VALUES:
        parser.add_argument(f"--{flag}", required=flag in {"model", "port"})
    for flag in SWITCHES:
        parser.add_argument(f"--{flag}", action=argparse.BooleanOptionalAction)
    given = vars(parser.parse_args(argv))
    return {flag.replace("_", "-"): value for flag, value in given.items() if value is not None}


def fill(params, given):
    for flag, value in given.items():
        if flag in VALUES:
            paths, convert = VALUES[flag]
            for path in paths.split():
                _set(params, path, convert(value))
        elif SWITCHES[flag]:
            attribute = SWITCHES[flag]
            _set(params, attribute.lstrip("!"), value != attribute.startswith("!"))
    if given.get("reranking"):
        params.embedding = True
        params.pooling_type = _enum("llama_pooling_type", "LLAMA_POOLING_TYPE_", "rank")
    if key := os.environ.pop("LLAMA_API_KEY", ""):
        params.api_keys = [key]


def _set(target, path, value):
    *owners, last = path.split(".")
    for owner in owners:
        target = getattr(target, owner)
    setattr(target, last, value)


def _verbosity_setter(xllamacpp):
    """The library's own `common_log_set_verbosity_thold`, or None where a build does not show it."""
    return getattr(ctypes.CDLL(xllamacpp.xllamacpp.__file__), _SET_VERBOSITY, None)


def main(argv):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    given = parse(argv)
    try:
        import xllamacpp
    except ImportError as error:
        return _failed(f"the engine's library could not be loaded: {error}")
    params = xllamacpp.CommonParams()
    try:
        fill(params, given)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        return _failed(f"an option is not valid: {error}")
    set_verbosity, quiet = _verbosity_setter(xllamacpp), params.verbosity
    if set_verbosity is not None:
        params.verbosity = max(quiet, LOADING_VERBOSITY)
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        return _failed(f"{given['model']} could not be served: {error}")
    if set_verbosity is not None:
        set_verbosity(quiet)
    print(f"xllamacpp_server: ready at {server.listening_address}", flush=True)
    while True:
        signal.pause()


def _failed(why):
    print(f"xllamacpp_server: {why}", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
