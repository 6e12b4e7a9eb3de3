"""Really loads models and compares what they took with what was reckoned, before and after learning.

Every load is done twice. The first is measured as a worker measures an engine that has just become ready, without any
traffic; the second, which a placement would make after learning, also gets a prompt that fills a whole batch.
"""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

import worker
from backends.base import Estimate, Placed, Want
from backends.llama_cpp import LLAMA_CPP
from backends.measured import measured
from backends.vllm import VLLM
from benchmarks.memory_models import GEMMA, SMOLLM, model
from gpustack_lite.domain import Allocated, BackendVersion, LaunchSpec, ModelFacts
from gpustack_lite.hub import facts
from gpustack_lite.planning.learning import Lesson, learned
from gpustack_lite.ports import Identity, Ports
from tests.fakes.real_engine import KEY, free_port
from tests.fakes.smollm import cache_folder
from worker import engines, readings

MIB = 1024**2
RESULTS = Path(__file__).parents[1] / "tests" / "fixtures" / "memory_loads.json"
RUNNERS = Path(worker.__file__).parent / "runners"
READY_SECONDS = 400
SMALL = (("ubatch-size", 128),)
"""A batch that two cores can go through while somebody waits."""


@dataclass(frozen=True, slots=True)
class Load:
    """`cache` is the type of keys and values where that is not F16."""

    engine: str
    model: str
    context: int
    parallel: int = 4
    cache: str = ""
    more: tuple[tuple[str, Any], ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        if self.engine == "vllm":
            return {
                "max-model-len": self.context,
                "max-num-seqs": self.parallel,
                "dtype": "bfloat16",
                **dict(self.more),
            }
        types = {"cache-type-k": self.cache, "cache-type-v": self.cache} if self.cache else {}
        return {"max-model-len": self.context, "parallel": self.parallel, **types, **dict(self.more)}

    @property
    def name(self) -> str:
        said = [f"{self.context} x {self.parallel}", *([f"{self.cache} cache"] if self.cache else [])]
        return ", ".join([*said, *(f"{name} {value}" for name, value in self.more)])


LOADS: tuple[Load, ...] = (
    *(Load("llama_cpp", SMOLLM, context) for context in (512, 1024, 2048, 4096, 8192)),
    *(Load("llama_cpp", SMOLLM, 2048, cache=cache) for cache in ("q8_0", "q4_0")),
    *(Load("llama_cpp", SMOLLM, 2048, parallel) for parallel in (1, 8)),
    Load("llama_cpp", SMOLLM, 8192, 1, "q8_0"),
    Load("llama_cpp", SMOLLM, 512, 1, more=(("flash-attn", "off"),)),
    Load("llama_cpp", SMOLLM, 2048, 4, more=(("ubatch-size", 1024),)),
    Load("llama_cpp", SMOLLM, 1024, 4, more=(("embeddings", True),)),
    *(Load("llama_cpp", GEMMA, context, parallel) for context, parallel in ((512, 1), (2048, 4), (8192, 1))),
    *(Load("llama_cpp", f"SmolLM2-135M {type_}", 2048) for type_ in ("F16", "Q8_0", "Q4_0")),
    *(Load("llama_cpp", f"SmolLM2-360M {type_}", 4096, 2) for type_ in ("Q8_0", "Q4_1")),
    *(Load("llama_cpp", f"Qwen3-0.6B {type_}", 2048, 2, more=SMALL) for type_ in ("Q8_0", "Q4_K", "Q6_K", "Q4_0")),
    Load("llama_cpp", "Qwen3-0.6B Q8_0", 8192, 1, "q8_0", SMALL),
    Load("llama_cpp", "Qwen3-0.6B Q8_0", 512, 1),
    *(Load("llama_cpp", f"Llama-3.2-1B {type_}", 2048, 2, more=SMALL) for type_ in ("Q4_K", "Q4_1")),
    Load("llama_cpp", "Llama-3.2-1B Q4_K", 8192, 1, "q4_0", SMALL),
    *(Load("llama_cpp", f"TinyLlama-1.1B {type_}", 2048, 2, more=SMALL) for type_ in ("Q4_0", "Q8_0")),
    *(Load("llama_cpp", f"MHA-160M {type_}", 2048, 2) for type_ in ("F16", "Q4_K")),
    *(Load("llama_cpp", f"MoE-8x60M {type_}", 2048, 2) for type_ in ("Q8_0", "Q4_K")),
)

VLLM_LOADS: tuple[Load, ...] = (
    Load("vllm", "Llama-30M BF16", 2048, 8),
    Load("vllm", "Llama-160M BF16", 2048, 8),
    Load("vllm", "Llama-160M BF16", 4096, 32, more=(("enforce-eager", True),)),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """One load: what the engine said, and what it held when it was ready, and at most."""

    said: Allocated
    ready_bytes: int
    peak_bytes: int


def loaded(load: Load, path: Path, version: BackendVersion, folder: Path) -> tuple[ModelFacts, Taken, Taken]:
    found = facts.read(path, [path.parent])
    return found, *(_take(load, found, version, folder, asks=asks) for asks in (False, True))


def estimate(load: Load, found: ModelFacts) -> Estimate:
    backend = VLLM if load.engine == "vllm" else LLAMA_CPP
    return backend.estimates(found, Want(load.options))[0]


def after_learning(first: Estimate, taken: Taken) -> Estimate:
    """What the next placement of the same key claims, if nobody asked the first load anything."""
    return learned(
        [first], [[Lesson(replace(taken.said, ram_bytes=taken.ready_bytes, ready_ram_bytes=taken.ready_bytes))]]
    )[0]


def _take(load: Load, found: ModelFacts, version: BackendVersion, folder: Path, *, asks: bool) -> Taken:
    spec = _spec(load, found, version, folder)
    log = folder / "engine.log"
    with _running(spec, log) as (process, client):
        ready = _held(process)
        if asks:
            _fill_a_batch(client, load)
        said = measured(load.engine, log.read_text(errors="replace").splitlines())
        return Taken(said, ready, max(ready, _held(process)))


def _spec(load: Load, found: ModelFacts, version: BackendVersion, folder: Path) -> LaunchSpec:
    first = estimate(load, found)
    backend = VLLM if load.engine == "vllm" else LLAMA_CPP
    return backend.launch(
        Placed(
            instance_id=1,
            model_name="m",
            source_path=found.path,
            facts=found,
            options=load.options,
            env={},
            devices=(),
            port=free_port(),
            workdir=str(folder),
            engine_key=KEY,
            context_length=first.context_length,
            cpu_count=2,
            version=version,
            runner_dir=str(RUNNERS),
            claim=first.claim,
        )
    )


@contextmanager
def _running(spec: LaunchSpec, log: Path) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
    with log.open("wb") as output:
        env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **spec.env}
        process = subprocess.Popen(spec.argv, env=env, cwd=spec.workdir, stdout=output, stderr=output)
    try:
        headers = {"authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{spec.port}", timeout=300, headers=headers) as client:
            _wait(client, process, spec, log)
            yield process, client
    finally:
        process.terminate()
        process.wait(60)


def _wait(client: httpx.Client, process: "subprocess.Popen[bytes]", spec: LaunchSpec, log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(log.read_text(errors="replace")[-4000:])
        try:
            if client.get(spec.probe.path).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit(log.read_text(errors="replace")[-4000:])


def _held(process: "subprocess.Popen[bytes]") -> int:
    processes = Ports().processes
    root = processes.identify(process.pid)
    tree: list[Identity] = [] if root is None else [root, *processes.descendants(root)]
    return readings.held_bytes(tree)


def _fill_a_batch(client: httpx.Client, load: Load) -> None:
    """Token ids, so that a vocabulary of our own needs no words."""
    count = load.context - 16
    if load.options.get("flash-attn") != "off":  # without it the scores of the whole context are kept
        count = min(count, int(load.options.get("ubatch-size", 512)))
    if load.options.get("embeddings"):
        client.post("/v1/embeddings", json={"model": "m", "input": [[5] * count]}).raise_for_status()
        return
    body = {"model": "m", "prompt": [5] * count, "max_tokens": 2}
    client.post("/v1/completions", json=body).raise_for_status()


def _anywhere(found: ModelFacts) -> dict[str, Any]:
    """Without the directory of the machine that measured."""
    return facts.document(replace(found, path=f"/models/{Path(found.path or '').name}"))


def run(loads: Sequence[Load], version: BackendVersion) -> list[dict[str, Any]]:
    """Rows as they are kept in tests/fixtures, so that a change of the arithmetic is held against them at once."""
    rows = []
    with TemporaryDirectory() as folder:
        for load in loads:
            path = model(load.model, Path(folder))
            found, first, second = loaded(load, path, version, Path(folder))
            rows.append({"load": asdict(load), "facts": _anywhere(found), "taken": [asdict(first), asdict(second)]})
            error = estimate(load, found).claim.ram_bytes / second.peak_bytes - 1
            print(f"{load.model}, {load.name}: {second.peak_bytes / MIB:.0f} MiB, {100 * error:+.1f} %", flush=True)
    return rows


def record(engine_python: str | None, vllm_python: str | None) -> None:
    """Loads of an engine that is not there stay as they were recorded, and it is said."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    rows = run(LOADS, _llama(engine_python))
    if vllm_python is None:
        print("vLLM was not loaded: give --vllm-python; its rows stay as they were", flush=True)
        rows += [each for each in kept if each["load"]["engine"] == "vllm"]
    else:
        build = BackendVersion("vllm", "cpu", frozenset({"cpu"}), "path", True, vllm_python)
        rows += run(VLLM_LOADS, build)
    write(rows)


def _llama(python: str | None) -> BackendVersion:
    wheel = LLAMA_CPP.versions()[0]
    if python is None:
        return asyncio.run(engines.ensure(wheel, cache_folder(), Ports()))
    return replace(wheel, installed=True, executable=python)


def write(rows: Sequence[dict[str, Any]]) -> None:
    RESULTS.write_text("[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Row:
    """One load: what it held at most, and how far off the claims of a first and of a second placement are."""

    load: Load
    peak_bytes: int
    claimed_bytes: int
    learned_bytes: int
    cache_error_bytes: int
    compute_error_bytes: int

    @property
    def before(self) -> float:
        return self.claimed_bytes / self.peak_bytes - 1

    @property
    def after(self) -> float:
        return self.learned_bytes / self.peak_bytes - 1


def recorded() -> list[Row]:
    return [_row(each) for each in json.loads(RESULTS.read_text(encoding="utf-8"))]


def _row(kept: dict[str, Any]) -> Row:
    load = Load(**kept["load"] | {"more": tuple((name, value) for name, value in kept["load"]["more"])})
    first, second = (Taken(**each | {"said": Allocated(**each["said"])}) for each in kept["taken"])
    found = estimate(load, facts.from_document(kept["facts"]))
    memory, said = found.memory, second.said
    if memory is None:
        raise SystemExit(f"{load.model}: nothing was estimated")
    return Row(
        load,
        second.peak_bytes,
        found.claim.ram_bytes,
        after_learning(found, first).claim.ram_bytes,
        memory.kv_bytes - (said.kv_bytes or memory.kv_bytes),
        memory.activation_bytes - (said.activation_bytes or memory.activation_bytes),
    )


def table(rows: Sequence[Row]) -> str:
    lines = ["| engine | model | tokens x requests | held MiB | claim | after learning |", "|---|---|---|---|---|---|"]
    for row in rows:
        off = f"{100 * row.before:+.1f} % | {100 * row.after:+.1f} %"
        lines.append(f"| {row.load.engine} | {row.load.model} | {row.load.name} | {row.peak_bytes / MIB:.0f} | {off} |")
    return "\n".join(lines)


def distribution(rows: Sequence[Row]) -> str:
    lines = ["| loads | claim | lowest | p5 | p50 | p95 | highest | within 10 % |", "|---|---|---|---|---|---|---|---|"]
    for engine in ("llama_cpp", "vllm"):
        found = [each for each in rows if each.load.engine == engine]
        if found:
            lines.append(_spread(f"{len(found)} of {engine}", "first", [each.before for each in found]))
            lines.append(_spread("", "after learning", [each.after for each in found]))
    return "\n".join(lines)


def _spread(name: str, which: str, errors: Sequence[float]) -> str:
    ordered = sorted(errors)
    picked = [ordered[round(share * (len(ordered) - 1))] for share in (0, 0.05, 0.5, 0.95, 1)]
    near = sum(abs(each) <= 0.10 for each in ordered)
    shown = " | ".join(f"{100 * each:+.1f} %" for each in picked)
    return f"| {name} | {which} | {shown} | {near}/{len(ordered)} |"
