"""What of a model's files can run code, and what is done about it unless an administrator has decided otherwise."""

from collections.abc import Mapping
from dataclasses import replace

from backends.base import Backend, Placed
from gpustack_lite.domain import LaunchSpec, ModelFacts, Options
from gpustack_lite.errors import Refusal

CODE = (".py", ".pyc", ".pyd", ".so")
"""What Python loads from a directory."""
WITHOUT_CODE = "model-without-code"
_UNPICKLES: Mapping[str, frozenset[str]] = {"load-format": frozenset({"pt"})}
"""Options by which an engine reads pickles although safetensors lie beside them."""


def refuse_pickle(backend: Backend, facts: ModelFacts | None, options: Options) -> Refusal | None:
    """Of engines that a person described nothing is known; they are an administrator's decision as a whole."""
    if not backend.needs_facts or facts is None:
        return None
    unpickles = next((name for name, values in _UNPICKLES.items() if options.get(name) in values), None)
    if facts.has_pickle:
        return Refusal("model_pickle_not_allowed", param="allow_pickle", path=facts.path)
    if unpickles is not None:
        return Refusal("option_needs_pickle", param=f"options.{unpickles}", option=unpickles)
    return None


def launch(backend: Backend, placed: Placed) -> LaunchSpec:
    """As the backend's own; an engine that is not to run a model's code is given a directory that holds none.

    Being told not to trust it is not enough: engines have looked at `auto_map` all the same (CVE-2026-22807 of vLLM).
    """
    spec, facts = backend.launch(placed), placed.facts
    if placed.trust_remote_code or facts is None or not facts.runs_code or not placed.source_path:
        return spec
    if not spec.mirrors:
        path = f"{placed.workdir}/{WITHOUT_CODE}"
        elsewhere = replace(placed, source_path=path, facts=replace(facts, path=path))
        spec = replace(backend.launch(elsewhere), mirrors={WITHOUT_CODE: placed.source_path})
    return replace(spec, leaves_out=CODE)
