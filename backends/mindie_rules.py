"""What MindIE's validator refuses, found before it is started: ranges, and rules between several keys.

Rules take a flat view, key -> value; a key that is not there breaks no rule, so options alone can be judged as well as
a whole file. Sources: mindie_keys, and for plugins docs/zh/user_guide/feature of MindIE-LLM.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from backends.mindie_keys import BY_NAME, check_range
from gpustack_lite.errors import Refusal

Flat = Mapping[str, Any]
_MOST_ON_310P = 2000
_APART = {
    "mtp": frozenset({"splitfuse", "la", "memory_decoding"}),
    "splitfuse": frozenset({"la", "memory_decoding"}),
    "la": frozenset({"memory_decoding"}),
}
PLUGINS = frozenset({"mtp", "prefix_cache", "splitfuse", "la", "memory_decoding"})


class Broken(NamedTuple):
    """A key, the value that it may not have, and what would do."""

    key: str
    value: Any
    expected: str


def flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """Every scalar and list of a config.json by its own name; what lies deeper than a section does not count."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            found |= flat(value) if name[:1].isupper() else {name: value}
        elif name == "ModelConfig" and isinstance(value, list) and value:
            found |= {key: each for key, each in value[0].items()}
        else:
            found[name] = value
    return found


def check(document: Mapping[str, Any], *, is_310p: bool) -> None:
    """
    Raises:
        Refusal: `mindie_config_refused` or `option_invalid`, naming the key, its value and what is expected.
    """
    seen = flat(document)
    _check_types(seen)
    _check_ports(seen)
    for name, key in BY_NAME.items():
        check_range(name, seen.get(key.option.name))
    check_rules(seen, is_310p=is_310p)


def _check_types(seen: Flat) -> None:
    """What the installed file says may be anything; options were read by their kind before."""
    kinds: Mapping[str, type] = {"int": int, "bool": bool}
    for key in BY_NAME.values():
        name, wanted = key.option.name, kinds.get(key.option.kind)
        if wanted is not None and name in seen and type(seen[name]) is not wanted:
            value, expected = str(seen[name])[:200], key.option.kind
            raise Refusal("mindie_config_refused", param=f"options.{name}", option=name, value=value, expected=expected)


def check_rules(seen: Flat, *, is_310p: bool = False) -> None:
    """
    Raises:
        Refusal: `mindie_config_refused`.
    """
    rules = (*_RULES, *(_ON_310P if is_310p else ()))
    broken = next((found for rule in rules if (found := rule(seen)) is not None), None)
    if broken is not None:
        param, value = f"options.{broken.key}", str(broken.value)[:200]
        raise Refusal("mindie_config_refused", param=param, option=broken.key, value=value, expected=broken.expected)


def _at_most(small: str, large: str) -> Callable[[Flat], Broken | None]:
    def rule(seen: Flat) -> Broken | None:
        if small in seen and large in seen and seen[small] > seen[large]:
            return Broken(small, seen[small], f"<= {large} ({seen[large]})")
        return None

    return rule


def _multiple_of_16(name: str) -> Callable[[Flat], Broken | None]:
    def rule(seen: Flat) -> Broken | None:
        return Broken(name, seen[name], "16, 32, ...") if name in seen and seen[name] % 16 else None

    return rule


def _room_for_preempted(seen: Flat) -> Broken | None:
    if seen.get("maxPreemptCount", 0) and seen.get("cpuMemSize") == 0:
        return Broken("cpuMemSize", 0, f">= 1 (maxPreemptCount {seen['maxPreemptCount']})")
    return None


def _ranks(seen: Flat) -> Broken | None:
    world, tp = seen.get("worldSize"), seen.get("tp")
    if world is None or tp is None:
        return None
    made = tp * seen.get("dp", 1) * seen.get("cp", 1) * seen.get("pp", 1)
    return None if made == world else Broken("tp", tp, f"tp x dp x cp x pp = {world}")


def _experts(seen: Flat) -> Broken | None:
    world, tp, ep = seen.get("worldSize"), seen.get("moe_tp"), seen.get("moe_ep")
    if world is None or (tp is None and ep is None) or (tp or 1) * (ep or 1) == world:
        return None
    return Broken("moe_tp", tp or 1, f"moe_tp x moe_ep = {world}")


def _sequence(seen: Flat) -> Broken | None:
    sp, tp = seen.get("sp", 1), seen.get("tp")
    return None if sp == 1 or tp is None or sp == tp else Broken("sp", sp, f"1 | {tp} (tp)")


def _context_ranks(seen: Flat) -> Broken | None:
    if seen.get("cp", 1) > 1 and seen.get("dp", 1) > 1:
        return Broken("dp", seen["dp"], f"1 (cp {seen['cp']})")
    return None


def _policy(seen: Flat) -> Broken | None:
    value = seen.get("policyType", 0)
    return None if value in {0, 4, 5, 6, 7} else Broken("policyType", value, "0 | 4 | 5 | 6 | 7")


def _devices(seen: Flat) -> Broken | None:
    """Of several workers each names its own cards, which it then leaves unread."""
    ids, world = seen.get("npuDeviceIds"), seen.get("worldSize")
    if ids is None or world is None or seen.get("multiNodesInferEnabled"):
        return None
    return None if len(ids[0]) == world else Broken("worldSize", world, str(len(ids[0])))


def plugins_of(seen: Flat) -> Sequence[str]:
    """
    Raises:
        Refusal: `option_invalid`.
    """
    text = seen.get("plugin_params")
    if not text:
        return ()
    try:
        read = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict) or not isinstance(read.get("plugin_type"), str):
        raise _bad_plugins(text)
    return [each.strip() for each in read["plugin_type"].split(",") if each.strip()]


def _bad_plugins(text: object) -> Refusal:
    expected = '{"plugin_type": "..."}'
    name = "plugin_params"
    return Refusal("option_invalid", param=f"options.{name}", option=name, value=str(text)[:200], expected=expected)


def _plugins_together(seen: Flat) -> Broken | None:
    named = plugins_of(seen)
    for each in named:
        if each not in PLUGINS:
            return Broken("plugin_params", each, " | ".join(sorted(PLUGINS)))
        clash = _APART.get(each, frozenset()).intersection(named)
        if clash:
            return Broken("plugin_params", ",".join(named), f"{each} without {', '.join(sorted(clash))}")
    return None


def _plugins_and_data(seen: Flat) -> Broken | None:
    clash = [each for each in plugins_of(seen) if each != "mtp"]
    return Broken("dp", seen["dp"], f"1 ({', '.join(clash)})") if clash and seen.get("dp", 1) > 1 else None


def _nothing_310p_lacks(seen: Flat) -> Broken | None:
    """Of Atlas 300I Duo: prefix cache yes; data parallel, draft layers and several nodes no."""
    if seen.get("dp", 1) > 1:
        return Broken("dp", seen["dp"], "1 (310P)")
    if "mtp" in plugins_of(seen):
        return Broken("plugin_params", "mtp", "prefix_cache | splitfuse (310P)")
    if seen.get("maxBatchSize", 1) > _MOST_ON_310P:
        return Broken("maxBatchSize", seen["maxBatchSize"], f"<= {_MOST_ON_310P} (310P)")
    return Broken("multiNodesInferEnabled", True, "false (310P)") if seen.get("multiNodesInferEnabled") else None


_RULES: tuple[Callable[[Flat], Broken | None], ...] = (
    _at_most("maxInputTokenLen", "maxSeqLen"),
    _at_most("maxIterTimes", "maxSeqLen"),
    _at_most("maxInputTokenLen", "maxPrefillTokens"),
    _at_most("maxPrefillBatchSize", "maxBatchSize"),
    _at_most("maxPreemptCount", "maxBatchSize"),
    _at_most("maxBeamWidth", "maxBatchSize"),
    _multiple_of_16("cacheBlockSize"),
    _multiple_of_16("splitChunkTokens"),
    _room_for_preempted,
    _ranks,
    _experts,
    _sequence,
    _context_ranks,
    _policy,
    _devices,
    _plugins_together,
    _plugins_and_data,
)
_ON_310P = (_nothing_310p_lacks,)


def _check_ports(seen: Flat) -> None:
    """All three the same (the management address must be the same too), or service and management, or management and
    metrics, or all different; on one address service and metrics alone may not be the same.
    """
    service, management, metrics = (seen.get(each) for each in ("port", "managementPort", "metricsPort"))
    for name in ("port", "managementPort", "metricsPort", "interCommPort", "multiNodesInferPort"):
        if name in seen and not 1024 <= seen[name] <= 65535:
            raise Refusal("mindie_config_refused", option=name, value=seen[name], expected="1024 ... 65535")
    if service == metrics != management:
        raise Refusal("mindie_config_refused", option="metricsPort", value=metrics, expected=f"not {service}")
