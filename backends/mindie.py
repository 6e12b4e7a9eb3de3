"""MindIE: Huawei's own server. It is told everything by a config.json, which is written below the working directory."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from backends import mindie_config, mindie_rules
from backends.base import Backend, Estimate, Needs, Option, Placed, Want
from backends.failures import first_known
from backends.memory import fitting
from backends.memory.mindie import BATCH, BLOCK, FRACTION, Serving, prefill_tokens
from backends.memory.vllm import GIB
from backends.mindie_config import EXTRA_PORTS, Decided, Ports
from backends.mindie_failures import MINDIE as FAILURES
from backends.mindie_families import reasoning_key, takes_tools
from backends.mindie_install import Install
from backends.mindie_keys import BY_NAME, KNOWN_OPTIONS, Asked, asked
from backends.mindie_ranks import Node
from backends.options import OptionValue, check_env
from backends.vllm import directory, tensor_of, whole
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    Device,
    DeviceKind,
    HttpProbe,
    LaunchSpec,
    ModelFacts,
    Options,
    Sentence,
)
from gpustack_lite.errors import Refusal

CONFIG = "config.json"
WEIGHTS = "model"
RANK_TABLE = "rank_table.json"
PREFILL_BATCH = 50
_MODEL_CONFIG = f"{WEIGHTS}/config.json"
_FORBIDDEN_VARIABLES = re.compile(r"^(MIES_.*|MINDIE_CHECK_.*|RANK_?TABLE_?FILE|WORLD_SIZE|LOCAL_CACHE_DIR|NPU_.*)$")
_PATHS = frozenset({"/v1/chat/completions", "/v1/completions"})
_SHARED_MEMORY = ("*llm_backend_*", "llm_tokenizer_shared_memory_*")
"""As its documentation names what is to be removed before it is started again."""


class Mindie:
    name = "mindie"
    device_kinds: frozenset[DeviceKind] = frozenset({"ascend"})
    paths = _PATHS
    needs_facts = True
    needs_files = True
    known_options: tuple[Option, ...] = KNOWN_OPTIONS

    def versions(self) -> tuple[BackendVersion, ...]:
        """None that our installer makes: Huawei hands it out on application only."""
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        given = asked(options)
        _wish(given.values)
        mindie_rules.check_rules(_seen(given))
        check_env(env, _FORBIDDEN_VARIABLES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        values = asked(want.options).values
        reasoning_key(facts, values)
        return fitting.estimates(directory(facts, self.name), want, _wish(values), Serving(values))

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        if facts is None:
            return Abilities(paths=_PATHS, output_modalities=("text",))
        reasons = reasoning_key(facts, asked(options).values) is not None
        return Abilities(
            paths=_PATHS,
            input_modalities=("text", "image") if facts.kind == "vlm" else ("text",),
            output_modalities=("text",),
            tools=takes_tools(facts),
            reasoning=reasons,
            spelling="reasoning_content" if reasons else None,
        )

    def served_name(self, name: str) -> str:
        """Up to 256 of letters, digits and `._-`, and neither of these three first or last."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:256].strip("._-") or "model"

    def needs(self, version: BackendVersion, model_path: str | None) -> Needs:
        of_model = {"model": (str(PurePath(model_path) / "config.json"),)} if model_path else {}
        return Needs(EXTRA_PORTS, {"config": Install.of(version).configs, **of_model})

    def launch(self, placed: Placed, node: Node | None = None) -> LaunchSpec:
        """With a `node` its share of an instance that several workers carry; the first of the table serves.

        Raises:
            Refusal: what `check` raises, `mindie_config_unreadable`, `mindie_bfloat16_asked` or `hf_config_invalid`.
        """
        given = asked(placed.options)
        document, weights = config(placed, given, node), _weights(placed, given)
        install = Install.of(placed.version)
        of_node = {} if node is None else node.env(str(PurePath(placed.workdir) / RANK_TABLE))
        env = {**_ENV, **placed.env, **_by_option(given.values, document), **_fixed(placed, install), **of_node}
        ports = Ports.of(placed.port, placed.more_ports)
        return LaunchSpec(
            argv=install.argv(tuple(sorted(env))),
            env=env,
            port=placed.port,
            workdir=placed.workdir,
            probe=_probe(ports),
            files={**_written(document, node), **weights},
            file_mode=0o640,
            more_ports=placed.more_ports,
            mirrors={WEIGHTS: _source(placed)} if weights else {},
            shared_memory=_SHARED_MEMORY,
        )

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(FAILURES, log_lines)


def _written(document: Mapping[str, Any], node: Node | None) -> dict[str, str]:
    table = {} if node is None else {RANK_TABLE: node.table}
    return {CONFIG: json.dumps(document, indent=1, ensure_ascii=False), **table}


_ENV = {
    "MIES_SERVICE_MONITOR_MODE": "1",
    "MINDIE_LLM_CONTINUOUS_BATCHING": "1",
    "MINDIE_LLM_FRAMEWORK_BACKEND": "ATB",
    "MINDIE_LOG_TO_STDOUT": "1",
    "MINDIE_ASYNC_SCHEDULING_ENABLE": "1",
    "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
    "TASK_QUEUE_ENABLE": "1",
    "CPU_AFFINITY_CONF": "1",
    "ATB_OPERATION_EXECUTE_ASYNC": "1",
    "ATB_LAYER_INTERNAL_TENSOR_REUSE": "1",
    "ATB_WORKSPACE_MEM_ALLOC_ALG_TYPE": "3",
    "ATB_WORKSPACE_MEM_ALLOC_GLOBAL": "1",
    "INF_NAN_MODE_ENABLE": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
_EAGER = {
    "TASK_QUEUE_ENABLE": "0",
    "ATB_OPERATION_EXECUTE_ASYNC": "0",
    "MINDIE_ASYNC_SCHEDULING_ENABLE": "0",
    "ASCEND_LAUNCH_BLOCKING": "1",
}


def _by_option(values: Mapping[str, OptionValue], document: Mapping[str, Any]) -> dict[str, str]:
    """The fraction counts only where the file leaves the size of the cache to the engine."""
    is_auto = mindie_rules.flat(document).get("npuMemSize") == -1
    fraction = {"NPU_MEMORY_FRACTION": str(values.get("npu-memory-fraction", FRACTION))} if is_auto else {}
    return {**fraction, **(_EAGER if values.get("enforce-eager") is True else {})}


def _fixed(placed: Placed, install: Install) -> dict[str, str]:
    """The copy of the weights' directory is ours alone, but what its links lead to may be readable by all, which its
    own check would take amiss.
    """
    root = {"MIES_INSTALL_PATH": str(install.root)} if install.is_service else {}
    own = {"MIES_CONFIG_JSON_PATH": str(PurePath(placed.workdir) / CONFIG), "MINDIE_CHECK_INPUTFILES_PERMISSION": "0"}
    return {**root, **own}


def _probe(ports: Ports) -> HttpProbe:
    """`ready` is 503 while it is busy and `live` is not; 500 is its word for a fault that stays."""
    return HttpProbe(
        "/v2/health/ready",
        deadline_seconds=600.0,
        live_path="/v2/health/live",
        port=ports.management if ports.management != ports.service else None,
        dead=frozenset({500}),
    )


def config(placed: Placed, given: Asked, node: Node | None = None) -> dict[str, Any]:
    """The whole file, as it is written.

    Raises:
        Refusal: as `Mindie.launch`.
    """
    decided = _decided(placed, given)
    if node is not None:
        shared = {**decided.sizes, "tp": int(given.values.get("tensor-parallel-size", node.world_size))}
        decided = decided._replace(nodes=len(node.servers), world_size=node.world_size, sizes=shared)
        decided = decided._replace(address=node.address)
    made = mindie_config.made(mindie_config.read(placed.texts.get("config")), decided, given)
    mindie_rules.check(made, is_310p=is_310p(placed.devices))
    return made


def _decided(placed: Placed, given: Asked) -> Decided:
    values, context = given.values, placed.context_length or 2560
    batch = int(values.get("max-batch-size", BATCH))
    return Decided(
        name=MINDIE.served_name(placed.model_name),
        weights=str(PurePath(placed.workdir) / WEIGHTS) if "model" in placed.texts else _source(placed),
        device_ids=tuple(_logic_id(each) for each in placed.devices) or (0,),
        context=context,
        batch=batch,
        prefill_tokens=prefill_tokens(values, context),
        prefill_batch=min(int(values.get("max-prefill-batch-size", PREFILL_BATCH)), batch),
        block=int(values.get("cache-block-size", BLOCK)),
        npu_mem_gb=_cache_gb(placed, values, context),
        sizes=_sizes(placed, values),
        plugins=_plugins(values),
        reasoning_key=reasoning_key(placed.facts, values),
        ports=Ports.of(placed.port, placed.more_ports),
        world_size=max(len(placed.devices), 1),
        trust_remote_code=placed.trust_remote_code,
    )


def _sizes(placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, int]:
    """Of the two for experts the one that was not said is what makes their product the number of devices."""
    given = {name: int(values[spelling]) for name, spelling in _DIMENSIONS.items() if spelling in values}
    devices = max(len(placed.devices), 1)
    if len(found := [given[name] for name in ("moe_tp", "moe_ep") if name in given]) == 1 and devices % found[0] == 0:
        given = {"moe_tp": devices // found[0], "moe_ep": devices // found[0], **given}
    return {"tp": tensor_of(placed, _wish(values)), **given}


_DIMENSIONS = {
    "dp": "data-parallel-size",
    "cp": "context-parallel-size",
    "sp": "sequence-parallel-size",
    "pp": "pipeline-parallel-size",
    "moe_tp": "moe-tensor-parallel-size",
    "moe_ep": "moe-expert-parallel-size",
}


def _cache_gb(placed: Placed, values: Mapping[str, OptionValue], context: int) -> int:
    """Left to the engine (-1), but for models that see: those it wants to be told (gpustack#4075). Then it is what the
    fraction leaves beside weights and activations, in whole GB.
    """
    total = min((each.memory_total_bytes or 0 for each in placed.devices), default=0)
    if placed.facts is None or placed.facts.kind != "vlm" or not total:
        return -1
    wish = _wish(values)
    arithmetic = Serving({name: value for name, value in values.items() if name != "npu-mem-size"})
    terms = arithmetic.memory(placed.facts, wish.ranks(tensor_of(placed, wish)), total, context).terms
    rest = sum(term.size_bytes for term in terms if term.code != "term_cache")
    one_request = sum(math.ceil(term.size_bytes / GIB) for term in terms if term.code == "term_cache")
    return max((arithmetic.budget_bytes(total) - rest) // GIB, one_request, 1)


def _plugins(values: Mapping[str, OptionValue]) -> dict[str, Any]:
    guessed = int(values.get("enable-multi-token-prediction", 0))
    switches = (("splitfuse", "enable-split"), ("prefix_cache", "enable-prefix-caching"))
    named = [*(["mtp"] if guessed else []), *(name for name, option in switches if values.get(option) is True)]
    if not named:
        return {}
    return {"plugin_type": ",".join(named), **({"num_speculative_tokens": guessed} if guessed else {})}


def _seen(given: Asked) -> dict[str, Any]:
    """Options alone, as the rules see them."""
    keys = {BY_NAME[name].option.name: value for name, value in given.values.items() if name in BY_NAME}
    plugins = _plugins(given.values)
    ours = {"maxBatchSize": BATCH, "maxPrefillBatchSize": min(PREFILL_BATCH, int(keys.get("maxBatchSize", BATCH)))}
    return {**ours, **({"plugin_params": json.dumps(plugins)} if plugins else {}), **keys}


def _wish(values: Mapping[str, OptionValue]) -> fitting.Asked:
    """Cards that share a prompt (cp) hold the weights whole, as copies do.

    Raises:
        Refusal: `option_invalid`.
    """
    copies = [whole(values, f"{each}-parallel-size") or 1 for each in ("context", "data")]
    return fitting.Asked(
        tensor=whole(values, "tensor-parallel-size"),
        pipeline=whole(values, "pipeline-parallel-size") or 1,
        data=math.prod(copies),
        expert="moe-expert-parallel-size" in values,
        context=whole(values, "max-seq-len") or whole(values, "max-model-len"),
    )


def _logic_id(device: Device) -> int:
    return int(device.visible_name) if device.visible_name.isdecimal() else device.index


def is_310p(devices: Sequence[Device]) -> bool:
    return any(each.chip.upper().removeprefix("ASCEND").lstrip(" -_").startswith("310P") for each in devices)


def _source(placed: Placed) -> str:
    return placed.source_path or (placed.facts.path if placed.facts is not None else "")


def _weights(placed: Placed, given: Asked) -> dict[str, str]:
    """The model's own config.json, as a file of ours among links: MindIE takes no link there, wants to own it, and
    reads from it in which type to compute. None where the worker could not read it.
    """
    text = placed.texts.get("model")
    if text is None:
        return {}
    wanted = str(given.values.get("dtype", "auto"))
    return {_MODEL_CONFIG: model_config(text, wanted, is_310p=is_310p(placed.devices))}


def model_config(text: str, wanted: str, *, is_310p: bool) -> str:
    """With torch_dtype and vocab_size where MindIE looks for them, and float16 where the chip knows no bfloat16.

    Raises:
        Refusal: `hf_config_invalid` or `mindie_bfloat16_asked`.
    """
    if is_310p and wanted == "bfloat16":
        raise Refusal("mindie_bfloat16_asked", param="options.dtype")
    document = _object(text)
    inner = document.get("text_config")
    deeper = inner if isinstance(inner, dict) else {}
    said = (each.get(key) for each in (document, deeper) for key in ("torch_dtype", "dtype"))
    dtype = wanted if wanted != "auto" else next((each for each in said if isinstance(each, str)), "float16")
    dtype = "float16" if is_310p and dtype != "float16" else dtype
    vocabulary = {"vocab_size": deeper["vocab_size"]} if "vocab_size" in deeper else {}
    return json.dumps({**vocabulary, **document, "torch_dtype": dtype}, indent=1, ensure_ascii=False)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refusal("hf_config_invalid", path="config.json", why=str(error)) from error
    if not isinstance(found, dict):
        raise Refusal("hf_config_invalid", path="config.json", why=type(found).__name__)
    return found


MINDIE: Mindie = Mindie()
_IS_BACKEND: Backend = MINDIE
