"""How far each engine was tried on each kind of device; what nothing is written of here is declared only."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from backends.base import Backend

Level = Literal["run in our tests", "command line validated", "declared"]


class Proof(NamedTuple):
    level: Level
    test: str
    """Where it is shown, from the root of the source tree."""


PROOFS: Mapping[tuple[str, str], Proof] = MappingProxyType(
    {
        ("llama_cpp", "cpu"): Proof("run in our tests", "tests/integration/test_main_job.py"),
        ("custom", "cpu"): Proof("run in our tests", "tests/integration/test_liveness.py"),
        ("vllm", "cpu"): Proof("run in our tests", "tests/heavy/test_vllm_serving.py"),
        ("vllm", "cuda"): Proof("command line validated", "tests/heavy/test_vllm_commands.py"),
        ("vllm_ascend", "ascend"): Proof("command line validated", "tests/heavy/test_vllm_commands.py"),
        ("echo", "cpu"): Proof("run in our tests", "tests/integration/test_echo.py"),
        ("speech", "cpu"): Proof("run in our tests", "tests/heavy/test_speech.py"),
        ("mindie", "ascend"): Proof("command line validated", "tests/integration/test_mindie.py"),
    }
)
"""MindIE's config is read by a scripted daemon, which refuses what the real one is documented to refuse."""


def levels(backend: Backend) -> dict[str, Level]:
    """By device kind, in the order of the alphabet."""
    return {kind: level(backend.name, kind) for kind in sorted(backend.device_kinds)}


def level(name: str, kind: str) -> Level:
    proof = PROOFS.get((name, kind))
    return "declared" if proof is None else proof.level


def table(backends: Iterable[Backend]) -> str:
    """As the page shows it."""
    rows = [f"| {backend.name} | {kind} | {found} |" for backend in backends for kind, found in levels(backend).items()]
    return "\n".join(["| engine | device kind | support |", "|---|---|---|", *rows])
