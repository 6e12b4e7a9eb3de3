"""The keys of MindIE's config.json that options may set: where each lies, of which kind, and in which range.

Sources: MindIE-LLM, docs/zh/user_guide/user_manual/service_parameter_configuration.md and src/config_manager (checks of
server_config, model_deploy_config and schedule_config). An option is spelled as the key (`maxBatchSize`), as its whole
path (`BackendConfig.ScheduleConfig.maxBatchSize`), or in the house's way (`max-batch-size`).
"""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from backends.base import Option, OptionKind
from backends.options import OptionValue, checked, value_of
from gpustack_lite.domain import Options
from gpustack_lite.errors import Refusal

MOST_TOKENS = 4194304
SERVER = "ServerConfig"
HEALTH = "ServerConfig.HealthCheckConfig"
BACKEND = "BackendConfig"
DEPLOY = "BackendConfig.ModelDeployConfig"
MODEL = "BackendConfig.ModelDeployConfig.ModelConfig.0"
SCHEDULE = "BackendConfig.ScheduleConfig"
LOG = "LogConfig"


_Bounds = tuple[float | None, float | None]


class Key(NamedTuple):
    """`low` and `high` bound numbers, both included; None: not bounded."""

    section: str
    option: Option
    low: float | None = None
    high: float | None = None

    @property
    def path(self) -> str:
        return f"{self.section}.{self.option.name}" if self.section else self.option.name


def _key(section: str, name: str, kind: OptionKind, help: str, bounds: _Bounds = (None, None)) -> Key:
    return Key(section, Option(name, kind, help), *bounds)


def _choice(section: str, name: str, help: str, *choices: str) -> Key:
    return Key(section, Option(name, "choice", help, choices))


KEYS: tuple[Key, ...] = (
    _key(DEPLOY, "maxSeqLen", "int", "tokens of one request, prompt and answer together", (2, None)),
    _key(DEPLOY, "maxInputTokenLen", "int", "tokens of one prompt (maxSeqLen - 1)", (1, MOST_TOKENS)),
    _key(DEPLOY, "truncation", "bool", "cut prompts that are too long rather than refuse them (false)"),
    _key(DEPLOY, "maxLoras", "int", "adapters at once", (0, None)),
    _key(DEPLOY, "maxLoraRank", "int", "largest rank of an adapter", (0, None)),
    _key(MODEL, "cpuMemSize", "int", "GB of RAM to move cache to (as the file says)", (0, None)),
    _key(MODEL, "npuMemSize", "int", "GB of cache on each card; -1 takes what the fraction leaves", (-1, None)),
    _choice(MODEL, "backendType", "how the model is run", "atb", "torch"),
    _key(MODEL, "tp", "int", "cards that share each layer", (1, None)),
    _key(MODEL, "dp", "int", "copies of the attention layers", (1, None)),
    _key(MODEL, "cp", "int", "cards that share each prompt", (1, None)),
    _key(MODEL, "sp", "int", "sequence parallel; the same as tp", (1, None)),
    _key(MODEL, "pp", "int", "stages of layers", (1, None)),
    _key(MODEL, "moe_tp", "int", "cards that share each expert", (1, None)),
    _key(MODEL, "moe_ep", "int", "groups that experts are spread over", (1, None)),
    _key(MODEL, "plugin_params", "json", 'plugins, such as {"plugin_type": "prefix_cache"}'),
    _key(MODEL, "models", "json", 'settings of one architecture, such as {"deepseekv2": {...}}'),
    _key(MODEL, "async_scheduler_wait_time", "int", "seconds to wait for the scheduler", (1, 3600)),
    _key(MODEL, "kv_trans_timeout", "int", "seconds for moving cache", (1, 3600)),
    _key(MODEL, "kv_link_timeout", "int", "seconds for linking caches", (1, 3600)),
    _choice(SCHEDULE, "templateType", "Mix is for splitfuse", "Standard", "Mix"),
    _key(SCHEDULE, "cacheBlockSize", "int", "tokens in one block of the cache (128)", (16, 128)),
    _key(SCHEDULE, "maxPrefillBatchSize", "int", "prompts in one step (50)", (1, 819200)),
    _key(SCHEDULE, "maxPrefillTokens", "int", "prompt tokens that are worked on in one step", (1, MOST_TOKENS)),
    _key(SCHEDULE, "prefillTimeMsPerReq", "int", "what a prompt is expected to take", (0, 1000)),
    _key(SCHEDULE, "prefillPolicyType", "int", "order of prompts", (0, 3)),
    _key(SCHEDULE, "decodeTimeMsPerReq", "int", "what a token is expected to take", (0, 1000)),
    _key(SCHEDULE, "decodePolicyType", "int", "order of answers", (0, 3)),
    _key(SCHEDULE, "maxBatchSize", "int", "requests that are worked on at once (200)", (1, 819200)),
    _key(SCHEDULE, "maxIterTimes", "int", "tokens of one answer (maxSeqLen)", (1, None)),
    _key(SCHEDULE, "maxPreemptCount", "int", "requests that may be set aside (0)", (0, 819200)),
    _key(SCHEDULE, "supportSelectBatch", "bool", "weigh prompts against answers in each step"),
    _key(SCHEDULE, "maxQueueDelayMicroseconds", "int", "how long a batch is waited for", (500, 1000000)),
    _key(SCHEDULE, "maxFirstTokenWaitTime", "int", "milliseconds that a first token may wait", (0, 3600000)),
    _key(SCHEDULE, "maxN", "int", "answers to one request", (1, 8192)),
    _key(SCHEDULE, "maxBeamWidth", "int", "width of a beam search", (1, 8192)),
    _key(SCHEDULE, "policyType", "int", "scheduling policy: 0, or 4 to 7", (0, 7)),
    _key(SCHEDULE, "splitType", "bool", "splitfuse: how prompts are split"),
    _key(SCHEDULE, "splitStartType", "bool", "splitfuse: when splitting begins"),
    _key(SCHEDULE, "splitChunkTokens", "int", "splitfuse: tokens of a piece", (1, 8192)),
    _key(SCHEDULE, "splitStartBatchSize", "int", "splitfuse: requests from which on it splits", (0, 819200)),
    _key(SCHEDULE, "stageSelectPolicy", "int", "how the next step is chosen", (0, 2)),
    _key(SCHEDULE, "prefillExpectedTime", "int", "milliseconds to the first token", (1, 10000)),
    _key(SCHEDULE, "decodeExpectedTime", "int", "milliseconds between tokens", (1, 10000)),
    _key(SCHEDULE, "bufferResponseEnabled", "bool", "hold tokens back to even out their pace"),
    _key(SCHEDULE, "dynamicBatchSizeEnable", "bool", "let the engine change the batch"),
    _key(SERVER, "maxLinkNum", "int", "connections at once (1000)", (1, 4096)),
    _key(SERVER, "tokenTimeout", "int", "seconds to the next token (3600)", (1, 3600)),
    _key(SERVER, "e2eTimeout", "int", "seconds of a whole request (65535)", (1, 65535)),
    _key(SERVER, "maxRequestLength", "int", "MiB of one request; each tokenizer takes as much of /dev/shm", (1, 100)),
    _key(SERVER, "fullTextEnabled", "bool", "streams repeat the text so far"),
    _key(HEALTH, "npuUsageThreshold", "int", "percent of load that counts as busy; 0 is off", (0, 100)),
    _key(BACKEND, "tokenizerProcessNumber", "int", "processes that make tokens (8)", (1, 32)),
    _key(LOG, "dynamicLogLevel", "str", "log level while the engine runs"),
    _key(LOG, "dynamicLogLevelValidHours", "int", "hours that it holds", (1, 168)),
    _key("", "EnableDynamicAdjustTimeoutConfig", "bool", "timeouts may be changed while it runs"),
)
OURS: Mapping[str, Option] = {
    each.name: each
    for each in (
        Option("max-model-len", "int", "tokens of one request; the same as maxSeqLen"),
        Option("npu-memory-fraction", "float", "share of a card's memory that the engine may use (0.8)"),
        Option("enable-prefix-caching", "bool", "keep the cache of prompts that begin alike"),
        Option("enable-multi-token-prediction", "int", "tokens that the model's own draft layers guess"),
        Option("enable-split", "bool", "work on long prompts in pieces (splitfuse)"),
        Option(
            "enable-reasoning", "bool", "tell the model's thinking apart from its answer (where its template thinks)"
        ),
        Option("enforce-eager", "bool", "one operation after the other, to find faults"),
        Option("dtype", "choice", "in which the model computes", choices=("auto", "float16", "bfloat16")),
    )
}
"""Options that are no key of the file: variables, plugins, and what is written into the model's own config.json."""

_SPELLED_OTHERWISE = {
    "tp": "tensor-parallel-size",
    "dp": "data-parallel-size",
    "cp": "context-parallel-size",
    "sp": "sequence-parallel-size",
    "pp": "pipeline-parallel-size",
    "moe_tp": "moe-tensor-parallel-size",
    "moe_ep": "moe-expert-parallel-size",
}
FORBIDDEN = frozenset(
    {"host", "port", "trust-remote-code", "model-path", "model-name", "config", "kv-pool-config", "npu-device-ids"}
    | {"world-size", "model-weight-path", "ip-address", "management-port", "metrics-port", "lora-modules", "log-path"}
    | {"https-enabled", "allow-all-zero-ip-listening", "infer-mode", "open-ai-support", "multi-nodes-infer-enabled"}
)
_SUSPECT = re.compile(
    r"path|file|dir|tls|cert|crl|pk$|ip|port|host|addr|url|trust|device|backend|plugin|module|config$", re.I
)
_FILES = re.compile(r"path|file|dir|template|url", re.IGNORECASE)
_SECTIONS = (SERVER, BACKEND, DEPLOY, MODEL, SCHEDULE, LOG)
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_]{1,63}$")


def spelled(name: str) -> str:
    """A key in the house's way: maxSeqLen -> max-seq-len."""
    other = _SPELLED_OTHERWISE.get(name)
    return other or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").lower()


BY_NAME: Mapping[str, Key] = MappingProxyType({spelled(each.option.name): each for each in KEYS})
_KNOWN: Mapping[str, Option] = {**OURS, **{name: key.option for name, key in BY_NAME.items()}}
_OF_PATH: Mapping[str, str] = {
    spelling: name
    for name, key in BY_NAME.items()
    for spelling in (key.path, key.path.replace(".0.", "."), key.option.name)
}
KNOWN_OPTIONS: tuple[Option, ...] = (*(each.option for each in KEYS), *OURS.values())


class Asked(NamedTuple):
    """`values` by their spelling in the house's way; `others` are keys that the table does not know, by their path."""

    values: Mapping[str, OptionValue]
    others: Mapping[str, OptionValue]


def asked(options: Options) -> Asked:
    """
    Raises:
        Refusal: `option_not_allowed`, `option_unknown`, `option_invalid` or `mindie_option_twice`.
    """
    named = [(_OF_PATH.get(name, name), name) for name in options if options[name] is not None]
    _refuse_twice(named)
    others = {given: options[given] for name, given in named if name == given and "." in given}
    known = {name: options[given] for name, given in named if given not in others}
    values = checked(known, _KNOWN, FORBIDDEN)
    for name, value in values.items():
        check_range(name, value)
        _refuse_files(name, value)
    return Asked(values, {path: _other(path, value) for path, value in others.items()})


def _refuse_twice(named: list[tuple[str, str]]) -> None:
    seen: dict[str, str] = {}
    for name, given in named:
        same = "max-seq-len" if name == "max-model-len" else name
        if same in seen:
            raise Refusal("mindie_option_twice", param=f"options.{given}", option=given, other=seen[same])
        seen[same] = given


def check_range(name: str, value: object) -> None:
    """
    Raises:
        Refusal: `option_invalid`.
    """
    key = BY_NAME.get(name)
    if key is None or isinstance(value, bool) or not isinstance(value, int | float):
        return
    if (key.low is not None and value < key.low) or (key.high is not None and value > key.high):
        raise Refusal("option_invalid", param=f"options.{name}", option=name, value=value, expected=_bounds(key))


def _bounds(key: Key) -> str:
    if key.high is None:
        return f">= {key.low:g}"
    return f"{key.low:g} ... {key.high:g}"


def _refuse_files(name: str, value: OptionValue) -> None:
    """An object may hold a chat_template, which is a file, or whatever else a version reads from a path.

    Raises:
        Refusal: `option_not_allowed`.
    """
    if name in BY_NAME and BY_NAME[name].option.kind == "json" and _names_a_file(json.loads(str(value))):
        raise Refusal("option_not_allowed", param=f"options.{name}", option=name)


def _names_a_file(value: object) -> bool:
    if isinstance(value, dict):
        return any(_FILES.search(key) or _names_a_file(each) for key, each in value.items())
    if isinstance(value, list):
        return any(_names_a_file(each) for each in value)
    return isinstance(value, str) and "/" in value


def _other(path: str, value: object) -> OptionValue:
    """A key of a version that we have not seen. None may name a file, a host or code.

    Raises:
        Refusal: `option_not_allowed`, `option_unknown_here` or `option_invalid`.
    """
    section, _, name = path.rpartition(".")
    section = MODEL if section == MODEL.removesuffix(".0") else section
    if section not in _SECTIONS or not _NAME.fullmatch(name):
        raise Refusal("option_unknown_here", param=f"options.{path}", option=path)
    if _SUSPECT.search(name):
        raise Refusal("option_not_allowed", param=f"options.{path}", option=path)
    if isinstance(value, bool | int | float) or (isinstance(value, str) and "/" not in value):
        return value if not isinstance(value, str) else value_of(Option(path, "str", ""), value)
    raise Refusal(
        "option_invalid", param=f"options.{path}", option=path, value=str(value)[:200], expected="int | bool | str"
    )


def written(values: Mapping[str, OptionValue]) -> Iterator[tuple[str, OptionValue]]:
    """Path in config.json and value, of every option that is a key of the file."""
    return ((BY_NAME[name].path, value) for name, value in values.items() if name in BY_NAME)
