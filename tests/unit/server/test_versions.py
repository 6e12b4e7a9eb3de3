"""Which builds of an engine there are, and for which devices."""

from typing import Any

from gpustack_lite.db.tables import Worker
from gpustack_lite.server.versions import build_kinds, builds_of
from tests.fakes.rows import a_device, a_worker

CPU, BOTH = ["cpu"], ["cpu", "cuda"]


def offering(id: int, version: str, kinds: list[str]) -> Worker:
    row: dict[str, Any] = {"backend": "llama_cpp", "version": version, "device_kinds": kinds}
    return a_worker(id, backend_versions=[row | {"source": "path", "installed": True}])


def test_a_kind_counts_only_where_every_worker_that_has_it_has_a_build_for_it() -> None:
    cards = {1: [a_device(0, kind="cuda")], 2: [a_device(0, kind="cuda")], 3: [a_device(0, kind="cpu")]}
    wheel, able, bare = offering(1, "a", CPU), offering(2, "b", BOTH), offering(3, "a", CPU)
    assert build_kinds([able, bare], cards, "llama_cpp") == {"cpu", "cuda"}
    assert build_kinds([wheel, able, bare], cards, "llama_cpp") == {"cpu"}
    assert build_kinds([wheel], cards, "vllm") == frozenset()


def test_the_builds_are_those_that_some_worker_would_pick() -> None:
    workers = [offering(1, "a", CPU), offering(2, "b", BOTH), a_worker(3)]
    assert builds_of(workers, "llama_cpp", None, frozenset({"cpu"})) == ("a", "b")
    assert builds_of(workers, "llama_cpp", "a", frozenset({"cpu"})) == ("a",)
