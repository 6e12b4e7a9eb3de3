"""MindIE's config.json: the engine's own file with what was decided written over it, unknown keys kept.

What is decided for every instance stands in `decided`; the rest is the file's own, or `TEMPLATE` where the worker could
not read one. Sources as in mindie_keys.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from backends.mindie_keys import DEPLOY, MODEL, SCHEDULE, SERVER, Asked, written
from backends.options import OptionValue
from gpustack_lite.errors import Refusal

LARGEST_BYTES = 10 * 1024**2
"""Of a config.json that MindIE reads."""
LOOPBACK = "127.0.0.1"
REQUEST_MIB = 40
"""Its own default, above the gateway's bound on a body (32 MiB). Each tokenizer holds as much of /dev/shm."""
EXTRA_PORTS = 4

TEMPLATE: Mapping[str, Any] = {
    "Version": "1.0.0",
    "LogConfig": {"dynamicLogLevel": "", "dynamicLogLevelValidHours": 2, "dynamicLogLevelValidTime": ""},
    "ServerConfig": {"maxLinkNum": 1000, "distDPServerEnabled": False, "fullTextEnabled": False},
    "BackendConfig": {
        "backendName": "mindieservice_llm_engine",
        "tokenizerProcessNumber": 8,
        "ModelDeployConfig": {"ModelConfig": [{"modelInstanceType": "Standard", "cpuMemSize": 0, "npuMemSize": -1}]},
        "ScheduleConfig": {
            "templateType": "Standard",
            "templateName": "Standard_LLM",
            "prefillTimeMsPerReq": 150,
            "prefillPolicyType": 0,
            "decodeTimeMsPerReq": 50,
            "decodePolicyType": 0,
            "maxPreemptCount": 0,
            "supportSelectBatch": False,
            "maxQueueDelayMicroseconds": 5000,
            "maxFirstTokenWaitTime": 2500,
            "maxN": 128,
        },
    },
    "EnableDynamicAdjustTimeoutConfig": False,
}
"""The keys without which its validator refuses a file, with its own defaults."""


class Ports(NamedTuple):
    """All on loopback. With one port alone the three doors share it, which it accepts."""

    service: int
    management: int
    metrics: int
    inter: int
    nodes: int

    @classmethod
    def of(cls, port: int, more: tuple[int, ...]) -> "Ports":
        if len(more) < EXTRA_PORTS:
            return cls(port, port, port, 1121, 1120)
        return cls(port, *more[:EXTRA_PORTS])


class Decided(NamedTuple):
    """What was placed, and how the engine is to be run; `sizes` are the parallel sizes that are said outright."""

    name: str
    weights: str
    device_ids: tuple[int, ...]
    context: int
    batch: int
    prefill_tokens: int
    prefill_batch: int
    block: int
    npu_mem_gb: int
    sizes: Mapping[str, int]
    plugins: Mapping[str, Any]
    ports: Ports
    world_size: int
    reasoning_key: str | None = None
    """The family below `models` for which thinking is told apart from the answer."""
    nodes: int = 1
    """How many workers share the instance."""
    trust_remote_code: bool = False
    address: str = LOOPBACK
    """Where it listens; of several workers each must reach the others."""


_RECKONED = frozenset({"max-prefill-tokens", "max-seq-len"})
"""Options that went into what was decided: the first is raised to the longest prompt."""


def read(text: str | None) -> dict[str, Any]:
    """The engine's own file, or the template where there is none.

    Raises:
        Refusal: `mindie_config_unreadable`.
    """
    if text is None:
        return copy.deepcopy(dict(TEMPLATE))
    try:
        found = json.loads(text) if len(text) <= LARGEST_BYTES else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refusal("mindie_config_unreadable")
    return found


def made(base: Mapping[str, Any], decided: Decided, asked: Asked) -> dict[str, Any]:
    """`base` is left as it is. Options stand above what was decided, which stands above the file."""
    document = copy.deepcopy(dict(base))
    document["BackendConfig"] = _whole_backend(document.get("BackendConfig"))
    for path, value in (*_decided(decided).items(), *_ours_for_options(decided, asked).items()):
        put(document, path, value)
    chosen = {name: value for name, value in asked.values.items() if name not in _RECKONED}
    for path, value in (*written(chosen), *asked.others.items()):
        put(document, path, _as_written(path, value))
    return document


def _whole_backend(found: object) -> dict[str, Any]:
    """One model only, whatever the file lists: further ones are other instances' business."""
    backend = dict(found) if isinstance(found, dict) else {}
    deploy = backend.get("ModelDeployConfig")
    deploy = dict(deploy) if isinstance(deploy, dict) else {}
    models = deploy.get("ModelConfig")
    first = models[0] if isinstance(models, list) and models and isinstance(models[0], dict) else {}
    deploy.pop("LoraModules", None)
    return backend | {"ModelDeployConfig": deploy | {"ModelConfig": [dict(first)]}}


def _decided(decided: Decided) -> dict[str, Any]:
    """What no option may change: where it listens, who may speak with it, which cards and which weights it has."""
    ports, apart = decided.ports, decided.ports.management != decided.ports.service
    return {
        f"{SERVER}.ipAddress": decided.address,
        f"{SERVER}.managementIpAddress": LOOPBACK if apart else None,
        f"{SERVER}.port": ports.service,
        f"{SERVER}.managementPort": ports.management,
        f"{SERVER}.metricsPort": ports.metrics,
        f"{SERVER}.interCommPort": ports.inter,
        f"{SERVER}.allowAllZeroIpListening": False,
        f"{SERVER}.httpsEnabled": False,
        f"{SERVER}.interCommTLSEnabled": False,
        f"{SERVER}.inferMode": "standard",
        f"{SERVER}.openAiSupport": "vllm",
        "BackendConfig.modelInstanceNumber": 1,
        "BackendConfig.npuDeviceIds": [list(decided.device_ids)],
        "BackendConfig.multiNodesInferEnabled": decided.nodes > 1,
        "BackendConfig.multiNodesInferPort": ports.nodes,
        "BackendConfig.interNodeTLSEnabled": False,
        "BackendConfig.kvPoolConfig": None,
        f"{MODEL}.modelName": decided.name,
        f"{MODEL}.modelWeightPath": decided.weights,
        f"{MODEL}.worldSize": decided.world_size,
        f"{MODEL}.trustRemoteCode": decided.trust_remote_code,
    }


def _ours_for_options(decided: Decided, asked: Asked) -> dict[str, Any]:
    """Where the engine's own default would surprise, ours is said: an answer may be as long as the context, nothing is
    cut off, and timeouts are at their maximum, for the gateway has its own. The shape of the batch is what memory was
    reckoned with. Sizes of an earlier model are forgotten; -1, which newer versions refuse, is never written.
    """
    longest = int(asked.values.get("max-input-token-len", max(decided.context - 1, 1)))
    return {
        f"{SERVER}.tokenTimeout": 3600,
        f"{SERVER}.e2eTimeout": 65535,
        f"{SERVER}.maxRequestLength": REQUEST_MIB,
        f"{SERVER}.fullTextEnabled": False,
        f"{DEPLOY}.maxSeqLen": decided.context,
        f"{DEPLOY}.maxInputTokenLen": longest,
        f"{DEPLOY}.truncation": False,
        f"{MODEL}.npuMemSize": decided.npu_mem_gb,
        f"{MODEL}.backendType": "atb",
        **{f"{MODEL}.{name}": decided.sizes.get(name) for name in ("tp", "dp", "cp", "sp", "pp", "moe_tp", "moe_ep")},
        **({f"{MODEL}.models.{decided.reasoning_key}.enable_reasoning": True} if decided.reasoning_key else {}),
        f"{MODEL}.plugin_params": json.dumps(decided.plugins) if decided.plugins else None,
        f"{SCHEDULE}.templateType": "Mix" if "splitfuse" in str(decided.plugins.get("plugin_type")) else "Standard",
        f"{SCHEDULE}.cacheBlockSize": decided.block,
        f"{SCHEDULE}.maxPrefillBatchSize": decided.prefill_batch,
        f"{SCHEDULE}.maxPrefillTokens": decided.prefill_tokens,
        f"{SCHEDULE}.maxBatchSize": decided.batch,
        f"{SCHEDULE}.maxIterTimes": decided.context,
    }


def _as_written(path: str, value: OptionValue) -> Any:
    """`models` is an object in the file, `plugin_params` a string that holds one."""
    return json.loads(str(value)) if path.endswith(".models") else value


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """None takes the key away."""
    *sections, name = path.split(".")
    place: Any = document
    for each in sections:
        place = place[int(each)] if isinstance(place, list) else _section(place, each)
    if value is None:
        place.pop(name, None)
    else:
        place[name] = value


def _section(place: dict[str, Any], name: str) -> Any:
    if not isinstance(place.get(name), dict | list):
        place[name] = {}
    return place[name]
