"""MindIE: Huawei's own server. It is told everything by a config.json, which is written below the working directory."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from backends import vllm_failures
from backends.base import Backend, Estimate, Option, Placed, Want
from backends.failures import COMMON, Failure, first_known
from backends.memory import fitting
from backends.memory.mindie import BATCH, BLOCK, Serving, prefill_tokens
from backends.options import OptionValue, check_env, checked
from backends.vllm import directory, tensor_of, whole
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    DeviceKind,
    HttpProbe,
    LaunchSpec,
    ModelFacts,
    Options,
    Sentence,
)
from gpustack_lite.errors import Refusal

PROGRAMS = ("mindieservice_daemon", "mindie_llm_server")
CONFIG = "config.json"
KNOWN: Mapping[str, Option] = {
    each.name: each
    for each in (
        Option("max-model-len", "int", "tokens of one request; the same as max-seq-len"),
        Option("max-seq-len", "int", "tokens of one request, prompt and answer together"),
        Option("max-prefill-tokens", "int", "prompt tokens that are worked on in one step"),
        Option("max-prefill-batch-size", "int", "prompts in one step (50)"),
        Option("max-batch-size", "int", "requests that are worked on at once (200)"),
        Option("npu-memory-fraction", "float", "share of a card's memory that the engine may use (0.8)"),
        Option("npu-mem-size", "int", "GB of cache on each card; -1 takes what the fraction leaves"),
        Option("cpu-mem-size", "int", "GB of RAM to move cache to (0)"),
        Option("cache-block-size", "int", "tokens in one block of the cache (128)"),
        Option("tensor-parallel-size", "int", "cards that share each layer"),
        Option("data-parallel-size", "int", "copies of the attention layers"),
        Option("moe-tensor-parallel-size", "int", "cards that share each expert"),
        Option("moe-expert-parallel-size", "int", "groups that experts are spread over"),
        Option("max-preempt-count", "int", "requests that may be set aside (0)"),
        Option("enable-prefix-caching", "bool", "keep the cache of prompts that begin alike"),
        Option("enable-multi-token-prediction", "int", "tokens that the model's own draft layers guess"),
        Option("backend-type", "choice", "how the model is run", choices=("atb", "torch")),
    )
}
FORBIDDEN = frozenset({"host", "port", "trust-remote-code", "model-path", "model-name", "config", "kv-pool-config"})
_FORBIDDEN_VARIABLES = re.compile(r"^(MIES_.*|MINDIE_CHECK_.*|RANK_?TABLE_?FILE|WORLD_SIZE|LOCAL_CACHE_DIR|NPU_.*)$")
_NAME = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,254}[A-Za-z0-9])?$")
_PATHS = frozenset({"/v1/chat/completions", "/v1/completions"})
_FAILURES = (
    Failure("engine_dtype_unsupported", r"does not support bfloat16"),
    Failure("engine_port_in_use", r"MIE04E02041C|Failed to listen"),
    *vllm_failures.CANN,
    Failure("engine_out_of_memory", r"NPU out of memory|out of memory"),
    *COMMON,
)


class Mindie:
    name = "mindie"
    device_kinds: frozenset[DeviceKind] = frozenset({"ascend"})
    paths = _PATHS
    needs_facts = True
    needs_files = True
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        """None that our installer makes: Huawei hands it out on application only."""
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        _asked(checked(options, KNOWN, FORBIDDEN))
        check_env(env, _FORBIDDEN_VARIABLES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        values = checked(want.options, KNOWN, FORBIDDEN)
        return fitting.estimates(directory(facts, self.name), want, _asked(values), Serving(values))

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        is_vlm = facts is not None and facts.kind == "vlm"
        modalities = ("text", "image") if is_vlm else ("text",)
        return Abilities(paths=_PATHS, input_modalities=modalities, output_modalities=("text",))

    def launch(self, placed: Placed) -> LaunchSpec:
        """Raises:
        Refusal: `mindie_name_invalid`.
        """
        if not _NAME.match(placed.model_name):
            raise Refusal("mindie_name_invalid", param="name", name=placed.model_name)
        values = checked(placed.options, KNOWN, FORBIDDEN)
        fraction = {"NPU_MEMORY_FRACTION": str(values.get("npu-memory-fraction", 0.8))}
        return LaunchSpec(
            argv=(_program(placed.version),),
            env={
                **_ENV,
                **placed.env,
                **(fraction if int(values.get("npu-mem-size", -1)) < 0 else {}),
                "MIES_CONFIG_JSON_PATH": str(PurePath(placed.workdir) / CONFIG),
            },
            port=placed.port,
            workdir=placed.workdir,
            probe=HttpProbe("/v2/health/live", deadline_seconds=600.0),
            files={CONFIG: json.dumps(config(placed, values), indent=1)},
        )

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(_FAILURES, log_lines)


_ENV = {
    "MIES_SERVICE_MONITOR_MODE": "1",
    "MINDIE_LLM_FRAMEWORK_BACKEND": "ATB",
    "MINDIE_LOG_TO_STDOUT": "1",
    "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
    "TASK_QUEUE_ENABLE": "1",
    "ATB_OPERATION_EXECUTE_ASYNC": "1",
    "ATB_LAYER_INTERNAL_TENSOR_REUSE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def config(placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, Any]:
    """The whole file. Where MindIE's own default would surprise, ours is said: an answer may be as long as the context
    (maxIterTimes), nothing is cut off (truncation), and timeouts are at their maximum, for the gateway has its own.
    """
    context = placed.context_length or 2560
    return {
        "Version": "1.0.0",
        "LogConfig": {"dynamicLogLevel": "", "dynamicLogLevelValidHours": 2, "dynamicLogLevelValidTime": ""},
        "ServerConfig": _server(placed.port),
        "BackendConfig": {
            "backendName": "mindieservice_llm_engine",
            "modelInstanceNumber": 1,
            "npuDeviceIds": [[each.index for each in placed.devices]],
            "tokenizerProcessNumber": 8,
            "multiNodesInferEnabled": False,
            "multiNodesInferPort": 1120,
            "interNodeTLSEnabled": False,
            "ModelDeployConfig": {
                "maxSeqLen": context,
                "maxInputTokenLen": max(context - 1, 1),
                "truncation": False,
                "ModelConfig": [_model(placed, values)],
            },
            "ScheduleConfig": _schedule(values, context),
        },
        "EnableDynamicAdjustTimeoutConfig": False,
    }


def _server(port: int) -> dict[str, Any]:
    """One port for all three doors, which is a layout that it accepts while managementIpAddress is not said. On it lies
    /stopService too: it is on loopback, and gateways pass on the paths of `Mindie.paths` only.
    """
    return {
        "ipAddress": "127.0.0.1",
        "port": port,
        "managementPort": port,
        "metricsPort": port,
        "allowAllZeroIpListening": False,
        "maxLinkNum": 1000,
        "httpsEnabled": False,
        "fullTextEnabled": False,
        "interCommTLSEnabled": False,
        "interCommPort": 1121,
        "inferMode": "standard",
        "openAiSupport": "vllm",
        "tokenTimeout": 3600,
        "e2eTimeout": 65535,
        "maxRequestLength": 100,
        "distDPServerEnabled": False,
    }


def _model(placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, Any]:
    wish = _asked(values)
    sizes = {"moe_tp": values.get("moe-tensor-parallel-size"), "moe_ep": values.get("moe-expert-parallel-size")}
    plugins = _plugins(values)
    return {
        "modelInstanceType": "Standard",
        "modelName": placed.model_name,
        "modelWeightPath": placed.source_path or (placed.facts.path if placed.facts is not None else ""),
        "worldSize": max(len(placed.devices), 1),
        "tp": tensor_of(placed, wish),
        "dp": wish.data if wish.data > 1 else -1,
        **{name: size for name, size in sizes.items() if size is not None},
        "cpuMemSize": int(values.get("cpu-mem-size", 0)),
        "npuMemSize": int(values.get("npu-mem-size", -1)),
        "backendType": str(values.get("backend-type", "atb")),
        "trustRemoteCode": False,
        **({"plugin_params": json.dumps(plugins)} if plugins else {}),
    }


def _plugins(values: Mapping[str, OptionValue]) -> dict[str, Any]:
    guessed = int(values.get("enable-multi-token-prediction", 0))
    named = [*(["mtp"] if guessed else []), *(["prefix_cache"] if values.get("enable-prefix-caching") else [])]
    if not named:
        return {}
    return {"plugin_type": ",".join(named), **({"num_speculative_tokens": guessed} if guessed else {})}


def _schedule(values: Mapping[str, OptionValue], context: int) -> dict[str, Any]:
    batch = int(values.get("max-batch-size", BATCH))
    return {
        "templateType": "Standard",
        "templateName": "Standard_LLM",
        "cacheBlockSize": int(values.get("cache-block-size", BLOCK)),
        "maxPrefillBatchSize": min(int(values.get("max-prefill-batch-size", 50)), batch),
        "maxPrefillTokens": prefill_tokens(values, context),
        "prefillTimeMsPerReq": 150,
        "prefillPolicyType": 0,
        "decodeTimeMsPerReq": 50,
        "decodePolicyType": 0,
        "maxBatchSize": batch,
        "maxIterTimes": context,
        "maxPreemptCount": int(values.get("max-preempt-count", 0)),
        "supportSelectBatch": False,
        "maxQueueDelayMicroseconds": 5000,
        "maxFirstTokenWaitTime": 2500,
        "maxN": 128,
    }


def _asked(values: Mapping[str, OptionValue]) -> fitting.Asked:
    """
    Raises:
        Refusal: `option_invalid` for a size that its validator would refuse.
    """
    for name in ("max-prefill-tokens", "max-batch-size", "max-prefill-batch-size", "cache-block-size"):
        whole(values, name)
    block = int(values.get("cache-block-size", BLOCK))
    if block % 16 or block > 128:
        expected = "16, 32, ... 128"
        raise Refusal(
            "option_invalid",
            param="options.cache-block-size",
            option="cache-block-size",
            value=block,
            expected=expected,
        )
    return fitting.Asked(
        tensor=whole(values, "tensor-parallel-size"),
        data=whole(values, "data-parallel-size") or 1,
        expert="moe-expert-parallel-size" in values,
        context=whole(values, "max-seq-len") or whole(values, "max-model-len"),
    )


def _program(version: BackendVersion) -> str:
    """The daemon that was found, or the one beside the Python of its environment."""
    executable = PurePath(version.executable or PROGRAMS[0])
    return str(executable if executable.name in PROGRAMS else executable.with_name(PROGRAMS[1]))


MINDIE: Backend = Mindie()
