"""Our memory arithmetic beside figures that engines and hubs printed: `python -m benchmarks.memory` writes the table.

What is compared: the bytes of a checkpoint from its config.json alone; the weights that one rank loaded; the cache of a
context; what an engine took besides its cache; a whole engine. The figures are of public issues, named in each row.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backends import llama_cpp_memory
from backends.memory import vllm, vllm_ascend
from backends.memory.fitting import device_bytes, term_bytes
from backends.memory.ranks import Ranks
from benchmarks import memory_loads
from gpustack_lite.domain import Memory, ModelFacts
from gpustack_lite.hub.config_facts import facts_of_config

GIB = 1024**3
FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
SAID = {
    "checkpoint": "checkpoint, from config.json",
    "weights": "weights of one rank",
    "cache": "cache",
    "taken": "all but the cache, on one device",
    "buffers": "buffers on the device",
}


@dataclass(frozen=True, slots=True)
class Row:
    """`is_fitted`: a constant of ours was taken from this very figure, so that it proves nothing."""

    what: str
    engine: str
    model: str
    said_bytes: float
    ours_bytes: float
    source: str
    is_fitted: bool

    @property
    def error(self) -> float:
        return self.ours_bytes / self.said_bytes - 1


def rows() -> list[Row]:
    truth = json.loads((FIXTURES / "memory_truth.json").read_text(encoding="utf-8"))
    configs = json.loads((FIXTURES / "configs.json").read_text(encoding="utf-8")) | truth["configs"]
    return [_row(each, facts_of_config(configs[each["model"]], "/m")) for each in truth["rows"]]


def _row(told: Mapping[str, Any], facts: ModelFacts) -> Row:
    said = told.get("said") or told["said_gib"] * GIB
    name = str(told.get("shown", told["model"]))
    about = "" if told["what"] == "checkpoint" else _about(told)
    ours = OURS[told["what"]](told, facts)
    return Row(
        told["what"],
        told.get("engine", "-"),
        name + about,
        said,
        ours,
        told["source"],
        told.get("is_fitted", False),
    )


def _about(told: Mapping[str, Any]) -> str:
    shape = [f"TP{told['tensor']}"] if told.get("tensor", 1) > 1 else []
    options = [f"{name} {value}" for name, value in told.get("options", {}).items()]
    return ", " + ", ".join([*shape, str(told["context"]), *options])


def _reserving(told: Mapping[str, Any], facts: ModelFacts) -> Memory:
    options = told.get("options", {})
    engine = (
        vllm_ascend.reserving(options)
        if told["engine"] == "vllm_ascend"
        else vllm.Reserving(options, frozenset({"cuda"}))
    )
    return engine.memory(facts, Ranks(told["tensor"]), 0, told["context"])


def _llama(told: Mapping[str, Any], facts: ModelFacts) -> Memory:
    weights = round(told.get("weights_gib", 0) * GIB)
    values = {"parallel": 1, "max-model-len": told["context"], **told.get("options", {})}
    known = replace(facts, weights_bytes=weights)
    return llama_cpp_memory.memory(known, values, llama_cpp_memory.shapes(known, values)[0])


def _cache(told: Mapping[str, Any], facts: ModelFacts) -> float:
    if told["engine"] == "llama_cpp":
        return _llama(told, facts).kv_bytes
    return term_bytes(_reserving(told, replace(facts, trained_context_length=None)), "term_cache")


def _taken(told: Mapping[str, Any], facts: ModelFacts) -> float:
    found = _reserving(told, facts)
    return device_bytes(found) - term_bytes(found, "term_cache")


def _buffers(told: Mapping[str, Any], facts: ModelFacts) -> float:
    """What the log adds up: neither the process nor what it keeps in RAM."""
    found = _llama(told, facts)
    return found.weights_bytes + found.kv_bytes + found.activation_bytes


OURS: Mapping[str, Callable[[Mapping[str, Any], ModelFacts], float]] = {
    "checkpoint": lambda _, facts: float(facts.weights_bytes or 0),
    "weights": lambda told, facts: term_bytes(_reserving(told, facts), "term_weights"),
    "cache": _cache,
    "taken": _taken,
    "buffers": _buffers,
}


def table(found: list[Row]) -> str:
    lines = ["| what | engine | model | printed GiB | ours GiB | error | source |", "|---|---|---|---|---|---|---|"]
    for row in found:
        said, ours = f"{row.said_bytes / GIB:.3f}", f"{row.ours_bytes / GIB:.3f}"
        error = f"{100 * row.error:+.2f} %" + (" (fitted to it)" if row.is_fitted else "")
        lines.append(f"| {SAID[row.what]} | {row.engine} | {row.model} | {said} | {ours} | {error} | {row.source} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--loads", action="store_true", help="load models with llama.cpp again, and record it")
    parser.add_argument("--engine-python", help="the Python that has xllamacpp; installed by uv unless given")
    parser.add_argument("--vllm-python", help="the Python of an environment with vLLM for CPUs")
    given = parser.parse_args()
    if given.loads:
        memory_loads.record(given.engine_python, given.vllm_python)
    found = memory_loads.recorded()
    print("\n\n".join([table(rows()), memory_loads.distribution(found), memory_loads.table(found)]))


if __name__ == "__main__":
    main()
