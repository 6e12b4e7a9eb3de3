"""A measurement takes the place of the estimate of the very same load."""

from dataclasses import replace

import pytest

from backends.base import Estimate
from gpustack_lite.domain import Allocated, Claim, Memory, ModelFacts, Term
from gpustack_lite.errors import Refusal
from gpustack_lite.planning.learning import Lesson, key_of, learned, lessons_for, with_margin

GIB = 1024**3
FACTS = ModelFacts("gguf", "/models/m.gguf", 5 * GIB, weights_bytes=5 * GIB)
TERMS = (
    Term("term_weights", 5 * GIB),
    Term("term_cache", 2 * GIB),
    Term("term_activation", GIB),
    Term("term_process", GIB),
)
MEMORY = Memory(5 * GIB, 1000, 2 * GIB, GIB, GIB, TERMS)
ON_CPU = Estimate(Claim(ram_bytes=9 * GIB), MEMORY, 4096)
RESERVING = Estimate(
    Claim(1, 20 * GIB, device_kinds=frozenset({"cuda"}), chips=frozenset({"A10"})), MEMORY, 4096, {}, 20 * GIB
)
SHARE = replace(RESERVING, claim=replace(RESERVING.claim, bytes_per_device=10 * GIB))


def key(found: Estimate = ON_CPU, version: str = "1", options: dict[str, object] | None = None) -> str:
    return key_of("/models/m.gguf", FACTS, found, backend="llama_cpp", options=options or {}, version=version)


def only(found: Estimate, lesson: Lesson) -> Estimate:
    return learned([found], [[lesson]])[0]


def test_a_key_is_of_one_load_and_of_no_other() -> None:
    others = [
        key(version="2"),
        key(options={"cache-type-k": "q8_0"}),
        key(replace(ON_CPU, context_length=8192)),
        key(replace(ON_CPU, device_layers=3)),
        key(replace(ON_CPU, parallel={"tensor": 2})),
        key(RESERVING),
    ]
    assert len({key(), *others}) == len(others) + 1


def test_sampling_and_the_spelling_of_the_context_make_no_other_key() -> None:
    assert key(options={"temp": 0.5, "max-model-len": 4096}) == key(options={"ctx-size": 16384})


def test_without_lessons_an_estimate_stays() -> None:
    assert learned([ON_CPU], [[]]) == (ON_CPU,)


def test_a_smaller_measurement_shrinks_the_claim_to_it_and_the_margin() -> None:
    told = Allocated(weights_bytes=4 * GIB, kv_bytes=GIB, activation_bytes=GIB // 2, ram_bytes=5 * GIB)
    found = only(ON_CPU, Lesson(told, worker="w1", at="then"))
    assert found.claim.ram_bytes == with_margin(4 * GIB + GIB + GIB // 2 + GIB)
    assert found.memory is not None
    assert (found.memory.is_measured, found.memory.measured_on, found.memory.measured_at) == (True, "w1", "then")
    assert (found.memory.weights_bytes, found.memory.kv_bytes, found.memory.overhead_bytes) == (4 * GIB, GIB, GIB)


def test_what_its_processes_held_is_never_undercut() -> None:
    found = only(ON_CPU, Lesson(Allocated(kv_bytes=GIB, ram_bytes=12 * GIB)))
    assert found.claim.ram_bytes == with_margin(12 * GIB)
    assert found.memory is not None
    assert found.memory.terms[-1].code == "term_beyond"


def test_an_engine_that_reserves_keeps_its_share_as_long_as_it_does() -> None:
    lesson = Lesson(Allocated(weights_bytes=6 * GIB, kv_bytes=11 * GIB), besides_cache_bytes=9 * GIB)
    found = only(RESERVING, lesson)
    assert found.claim == RESERVING.claim
    assert found.memory is not None
    assert [(each.code, each.size_bytes // GIB) for each in found.memory.terms] == [
        ("term_weights", 6),
        ("term_cache", 2),
        ("term_besides", 3),
    ]


def test_a_share_grows_to_what_was_measured() -> None:
    found = only(SHARE, Lesson(Allocated(kv_bytes=GIB), besides_cache_bytes=9 * GIB))
    assert found.claim.bytes_per_device == pytest.approx(11 * GIB * 1.02)


def test_what_was_measured_larger_than_the_device_is_refused_with_the_numbers() -> None:
    with pytest.raises(Refusal) as refused:
        only(RESERVING, Lesson(Allocated(kv_bytes=GIB), besides_cache_bytes=19 * GIB, worker="w1", at="then"))
    assert refused.value.code == "measured_does_not_fit"
    assert refused.value.params["needed_bytes"] == 21 * GIB
    assert refused.value.params["worker"] == "w1"


def test_another_way_to_run_it_stays_where_one_is_refused() -> None:
    two = replace(RESERVING, claim=replace(RESERVING.claim, device_count=2))
    lesson = Lesson(Allocated(kv_bytes=GIB), besides_cache_bytes=19 * GIB)
    assert learned([RESERVING, two], [[lesson], []]) == (two,)


def test_a_claim_under_which_it_ran_out_of_memory_is_never_made_again() -> None:
    assert only(ON_CPU, Lesson(too_little_ram_bytes=9 * GIB)).claim.ram_bytes == pytest.approx(9.45 * GIB)
    measured_less = Lesson(Allocated(weights_bytes=GIB, ram_bytes=4 * GIB), too_little_ram_bytes=9 * GIB)
    assert only(ON_CPU, measured_less).claim.ram_bytes == pytest.approx(9.45 * GIB)
    assert only(SHARE, Lesson(too_little_bytes=10 * GIB)).claim.bytes_per_device == pytest.approx(10.5 * GIB)
    assert only(SHARE, Lesson(too_little_bytes=20 * GIB)).claim.bytes_per_device == 20 * GIB


def test_of_several_builds_the_largest_counts_and_an_unmeasured_one_leaves_the_estimate() -> None:
    small, large = Lesson(Allocated(ram_bytes=10 * GIB)), Lesson(Allocated(ram_bytes=11 * GIB))
    known = {"a": small, "b": large}
    assert learned([ON_CPU], [lessons_for(["a", "b"], known)])[0].claim.ram_bytes == with_margin(11 * GIB)
    assert learned([ON_CPU], [lessons_for(["a", "c"], known)]) == (ON_CPU,)
    assert learned([ON_CPU], [lessons_for([], known)]) == (ON_CPU,)


def test_a_declared_claim_is_the_users_word() -> None:
    declared = Estimate(Claim(ram_bytes=GIB), None, None)
    assert only(declared, Lesson(Allocated(ram_bytes=5 * GIB))) == declared
