"""A round of placements, decided on a snapshot."""

from dataclasses import replace
from typing import Any

import pytest

from backends import registry
from gpustack_lite.db import members
from gpustack_lite.db.queries.placing import Ask, Explain, Place, Snapshot
from gpustack_lite.db.tables import Inspection, Model, ModelInstance, Worker, WorkerDevice
from gpustack_lite.server.deciding import Decision, MakeRoom, decide, news
from tests.fakes.clock import START
from tests.fakes.fake_backends import GIB, FakeBackend
from tests.fakes.rows import a_device, a_model, a_placed_instance, a_worker, an_instance

FACTS = {"format": "gguf", "path": "/models/m.gguf", "size_bytes": GIB, "kv_head_counts": [8], "of_a_newer_worker": 1}
FAKE = {"backend": "fake", "source": "/models/m.gguf"}


@pytest.fixture(autouse=True)
def fake_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"fake": FakeBackend(), "reads": FakeBackend("reads", needs_facts=True)}
    monkeypatch.setattr(registry, "find", known.__getitem__)
    monkeypatch.setattr(registry, "choose", lambda *_: known["reads"])


def claim(gib: int) -> dict[str, Any]:
    return {"device_count": 1, "bytes_per_device": gib * GIB, "ram_bytes": 0, "device_kinds": ["cuda", "ascend"]}


def holding(id: int, gib: int, device: int = 0, state: str = "ready", **given: Any) -> ModelInstance:
    return a_placed_instance(id, state, claim=claim(gib), device_indices=[device], **given)


def inspection(worker_id: int = 1, **given: Any) -> Inspection:
    return Inspection(**{"source": "/models/m.gguf", "worker_id": worker_id, "asked_at": START} | given)


def snapshot(
    pending: list[ModelInstance],
    *,
    model: Model | None = None,
    workers: list[Worker] | None = None,
    devices: int = 1,
    holding: list[ModelInstance] | None = None,
    inspections: list[Inspection] | None = None,
    used_gib: int = 0,
) -> Snapshot:
    """Every worker has `devices` CUDA cards of 24 GiB."""
    there = [ready()] if workers is None else workers
    return Snapshot(
        revision=5,
        workers=there,
        devices={each.id or 0: cards_of(each.id or 0, devices, used_gib) for each in there},
        holding=holding or [],
        pending=pending,
        models={1: model or a_model(**FAKE)},
        inspections={(each.source, each.worker_id): each for each in inspections or []},
        custom_backends={},
    )


def cards_of(worker_id: int, count: int, used_gib: int) -> list[WorkerDevice]:
    given = {"kind": "cuda", "chip": "A10", "memory_total_bytes": 24 * GIB, "memory_used_bytes": used_gib * GIB}
    return [a_device(index, worker_id=worker_id, **given) for index in range(count)]


def ready(id: int = 1, **given: Any) -> Worker:
    versions = [
        {"backend": name, "version": version, "device_kinds": ["cuda"], "source": "path", "installed": version == "2"}
        for name in ("fake", "reads")
        for version in ("1", "2")
    ]
    return a_worker(id, **{"backend_versions": versions} | given)


def only(decisions: list[Decision]) -> Decision:
    assert len(decisions) == 1, decisions
    return decisions[0]


def explained(decisions: list[Decision]) -> Explain:
    return next(each for each in decisions if isinstance(each, Explain))


def test_a_pending_instance_gets_an_immutable_document() -> None:
    found = only(decide(snapshot([an_instance(1)]), START))
    assert isinstance(found, Place)
    assert (found.instance_id, found.worker_id, found.devices, found.context_length) == (1, 1, (0,), 4096)
    assert found.claim["bytes_per_device"] == 14 * GIB
    assert (found.assigned["backend"], found.assigned["backend_version"]) == ("fake", "2")
    assert (found.memory or {})["total_bytes"] == 4 * GIB


def test_two_of_one_round_do_not_share_what_fits_once() -> None:
    first, second = decide(snapshot([an_instance(1), an_instance(2)]), START)
    assert isinstance(first, Place)
    assert isinstance(second, Explain)
    assert second.said["code"] == "not_enough_device_memory"
    assert second.reasons[0]["needed_bytes"] == 14 * GIB


def test_two_of_one_round_take_two_devices() -> None:
    places = [each for each in decide(snapshot([an_instance(1), an_instance(2)], devices=2), START)]
    assert sorted(each.devices for each in places if isinstance(each, Place)) == [(0,), (1,)]


WIDE = a_model(**FAKE, options={"workers": 2})


def test_several_workers_carry_one_instance_where_the_claim_asks_for_them() -> None:
    there = [ready(1), ready(2)]
    found = only(decide(snapshot([an_instance(1)], model=WIDE, workers=there), START))
    assert isinstance(found, Place)
    assert (found.worker_id, found.devices) == (1, (0,))
    assert [(each.worker_id, each.worker, each.devices) for each in found.members] == [(1, "w1", (0,)), (2, "w2", (0,))]
    assert found.members[1].assigned["backend_version"] == "2"
    assert found.assigned["source"] == "/models/m.gguf"


def test_what_its_followers_hold_is_not_given_away_again() -> None:
    rows = [members.begun(rank, rank + 1, f"w{rank + 1}", [0]) for rank in range(2)]
    held = holding(1, 14, members=rows, worker_count=2, model_name="other")
    decisions = decide(snapshot([an_instance(2)], workers=[ready(1), ready(2)], holding=[held]), START)
    found = only(decisions)
    assert isinstance(found, Explain)
    assert "1 (m)" in str(found.remedies)


@pytest.mark.parametrize(("networks", "fits"), [(("a", "a"), True), (("a", "b"), False), (("a", None), False)])
def test_they_must_be_in_one_network(networks: tuple[str, str | None], fits: bool) -> None:
    there = [ready(at + 1, labels={"network": each} if each else {}) for at, each in enumerate(networks)]
    found = only(decide(snapshot([an_instance(1)], model=WIDE, workers=there), START))
    assert isinstance(found, Place) == fits
    if isinstance(found, Explain):
        assert found.said["code"] == "networks_differ"
        assert [each["code"] for each in found.remedies][:1] == ["label_network"]


@pytest.mark.parametrize("state", ["lost", "stopping", "failed"])
def test_whatever_may_still_live_holds_its_claim(state: str) -> None:
    found = only(decide(snapshot([an_instance(2)], holding=[holding(1, 14, state=state)]), START))
    assert isinstance(found, Explain)


def test_what_others_use_is_not_free() -> None:
    found = only(decide(snapshot([an_instance(1)], used_gib=12), START))
    assert isinstance(found, Explain)


def test_what_a_serving_instance_uses_is_not_counted_twice() -> None:
    found = only(decide(snapshot([an_instance(2)], used_gib=9, holding=[holding(1, 9)]), START))
    assert isinstance(found, Place)


def test_a_silent_worker_gets_nothing() -> None:
    found = only(decide(snapshot([an_instance(1)], workers=[ready(state="silent")]), START))
    assert isinstance(found, Explain)
    assert found.said["code"] == "worker_silent"


def test_without_workers_that_is_the_reason() -> None:
    found = only(decide(snapshot([an_instance(1)], workers=[]), START))
    assert isinstance(found, Explain)
    assert found.said["code"] == "no_workers"


def test_the_files_are_asked_for_before_a_place_is_sought() -> None:
    decisions = decide(snapshot([an_instance(1)], model=a_model(backend="reads")), START)
    assert Ask("/models/m.gguf", (1,)) in decisions
    assert explained(decisions).said["code"] == "facts_awaited"


def test_a_question_is_not_asked_twice() -> None:
    decisions = decide(snapshot([an_instance(1)], model=a_model(backend="reads"), inspections=[inspection()]), START)
    assert only(decisions) == explained(decisions)


def test_only_a_worker_that_has_the_files_is_chosen() -> None:
    refused = {"code": "source_missing", "params": {"source": "/models/m.gguf"}}
    rows = [inspection(1, answered_at=START, refused=refused), inspection(2, answered_at=START, facts=FACTS)]
    there = [ready(1), ready(2)]
    found = only(decide(snapshot([an_instance(1)], model=a_model(), workers=there, inspections=rows), START))
    assert isinstance(found, Place)
    assert (found.worker_id, found.assigned["source"], found.assigned["backend"]) == (2, "/models/m.gguf", "reads")


def test_where_every_worker_refuses_its_own_words_are_the_reason() -> None:
    refused = {"code": "source_missing", "params": {"source": "/models/m.gguf"}}
    rows = [inspection(answered_at=START, refused=refused)]
    found = only(decide(snapshot([an_instance(1)], model=a_model(), inspections=rows), START))
    assert isinstance(found, Explain)
    assert found.reasons[0]["code"] == "source_missing"
    assert found.reasons[0]["params"]["worker"] == "w1"


def test_facts_that_make_no_sense_are_none() -> None:
    rows = [inspection(answered_at=START, facts={**FACTS, "size_bytes": "many"})]
    assert explained(decide(snapshot([an_instance(1)], model=a_model(), inspections=rows), START)).reasons


def test_a_backend_that_cannot_estimate_says_so() -> None:
    found = only(decide(snapshot([an_instance(1)], model=a_model(**FAKE, options={"unknown": True})), START))
    assert isinstance(found, Explain)
    assert found.said == {"code": "cannot_estimate", "params": {"why": "a test says so"}}


def test_a_version_that_no_worker_offers_is_the_reason() -> None:
    found = only(decide(snapshot([an_instance(1)], model=a_model(**FAKE, backend_version="3")), START))
    assert isinstance(found, Explain)
    assert found.said["code"] == "backend_version_missing"


NEW = a_model(**FAKE, generation=2, launch_generation=2)


def test_an_older_replica_makes_room_where_the_new_one_fits_nowhere_else() -> None:
    decisions = decide(snapshot([an_instance(2, generation=2)], model=NEW, holding=[holding(1, 14)]), START)
    assert MakeRoom(1) in decisions


def test_it_stays_where_its_end_would_not_help() -> None:
    too_big = a_model(**FAKE, launch_generation=2, options={"gib": 40})
    decisions = decide(snapshot([an_instance(2, generation=2)], model=too_big, holding=[holding(1, 14)]), START)
    assert not [each for each in decisions if isinstance(each, MakeRoom)]


def test_one_makes_room_at_a_time() -> None:
    held = [holding(1, 7), holding(3, 7, state="stopping")]
    decisions = decide(snapshot([an_instance(4, generation=2)], model=NEW, holding=held), START)
    assert not [each for each in decisions if isinstance(each, MakeRoom)]


def test_another_models_replica_never_makes_room() -> None:
    held = [holding(1, 14, model_id=2)]
    decisions = decide(snapshot([an_instance(2, generation=2)], model=NEW, holding=held), START)
    assert not [each for each in decisions if isinstance(each, MakeRoom)]


def test_an_explanation_that_the_row_holds_already_is_no_news() -> None:
    waiting = an_instance(1)
    why = explained(decide(snapshot([waiting], used_gib=20), START))
    assert news(snapshot([waiting]), [why]) == [why]
    waiting.said, waiting.reasons = why.said, why.reasons
    waiting.reason_counts, waiting.remedies = why.reason_counts, why.remedies
    assert news(snapshot([waiting]), [why]) == []


def test_a_higher_priority_is_asked_first_and_ends_nothing() -> None:
    late = a_model(id=2, name="late", placement={"priority": 5}, **FAKE)
    seen = snapshot([an_instance(1), an_instance(2, model_id=2, model_name="late")])
    decisions = decide(replace(seen, models={1: a_model(**FAKE), 2: late}), START)
    assert [type(each) for each in decisions] == [Place, Explain]
    assert [getattr(each, "instance_id", None) for each in decisions] == [2, 1]


def test_a_host_that_cannot_run_the_build_is_refused_with_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"vllm_ascend": FakeBackend("vllm_ascend")}.__getitem__)
    offered = {"backend": "vllm_ascend", "version": "0.23.0", "device_kinds": ["ascend"], "installed": True}
    worker = ready(host={"cann": "8.2.RC1"}, backend_versions=[offered | {"source": "wheel"}])
    seen = snapshot([an_instance(1)], model=a_model(**FAKE | {"backend": "vllm_ascend"}), workers=[worker])
    card = a_device(0, chip="910B3", memory_total_bytes=64 * GIB)
    found = explained(decide(replace(seen, devices={1: [card]}), START))
    assert (found.reasons[0]["check"], found.reasons[0]["code"]) == ("preflight", "cann_differs")
    assert "remedy_engine_for_cann" in {each["code"] for each in found.remedies}
