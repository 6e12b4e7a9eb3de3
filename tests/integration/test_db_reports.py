"""What workers report, and what follows: order of events (case B11), levels, ends, silence, drain, routes."""

import asyncio
from typing import Any

import pytest
from sqlmodel import col, select

from backends import registry
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import inspections, replicas
from gpustack_lite.db.tables import Event, GatewayRow, Inspection, Model, ModelInstance, WorkerDevice
from gpustack_lite.lifecycle import State, is_allowed
from gpustack_lite.ports import Ports
from gpustack_lite.wire import RoutesReply
from tests.fakes.clock import ManualClock
from tests.fakes.cluster import Cluster, FakeWorker, make_cluster, status
from tests.fakes.fake_backends import FakeBackend

pytestmark = pytest.mark.integration
EXITED = {"code": "engine_exited", "params": {"exit_code": 1}}


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"fake": FakeBackend(), "reads": FakeBackend("reads", needs_facts=True)}
    monkeypatch.setattr(registry, "find", known.__getitem__)


@pytest.fixture
async def one(db: Database, ports: Ports) -> Cluster:
    return await make_cluster(db, ports, grace_seconds=60, drain_seconds=300)


@pytest.fixture
async def worker(one: Cluster) -> FakeWorker:
    return await one.add_worker()


async def serving(one: Cluster, worker: FakeWorker, **given: Any) -> tuple[int, int]:
    """A model with one READY instance: their ids."""
    model_id = await one.add_model(**given)
    await one.settle()
    await worker.run_all()
    await one.settle()
    return model_id, (await one.instances())[-1].id or 0


async def test_the_claim_of_one_that_gave_up_goes_to_the_next(one: Cluster, worker: FakeWorker) -> None:
    """B11: it keeps the claim while it retries, and frees it when the worker confirms that nothing of it lives."""
    first = await one.add_model("a", restart_limit=3)
    await one.settle()
    await one.add_model("b")
    await one.settle()
    for attempt in (1, 2, 3):
        await worker.report(status(1, "starting", attempt=attempt))
        await worker.report(status(1, "failed", attempt=attempt, said=EXITED, next_try_seconds=5.0))
        await one.settle()
        assert await one.states() == {1: "failed", 2: "pending"}
    topics = await worker.report(status(1, "failed", attempt=3, said=EXITED, gave_up=True))
    assert "assignments" in topics
    await one.settle()
    assert await one.states() == {1: "failed", 2: "pending"}
    assert (await worker.assignment()).instances == ()
    await worker.report()
    await one.settle()
    assert await one.states() == {1: "failed", 2: "scheduled"}
    tries = ["starting", "failed"] * 3
    assert await one.moves_of(1) == ["pending", "scheduled", *tries]
    gave_up = (await one.instances())[0]
    assert (gave_up.model_id, gave_up.gave_up, gave_up.holds_claim, gave_up.said) == (first, True, False, EXITED)


async def test_a_person_has_it_tried_again(one: Cluster, worker: FakeWorker, ports: Ports) -> None:
    model_id = await one.add_model()
    await one.settle()
    await worker.report(status(1, "failed", attempt=5, gave_up=True))
    await worker.report()
    await one.settle()
    assert await one.states() == {1: "failed"}
    async with one.db.write() as session:
        assert await replicas.retry(session, await session.get_one(Model, model_id), ports.clock) == 1
    await one.settle()
    assert await one.states() == {2: "scheduled"}


async def test_states_passed_between_two_reports_are_in_the_diary(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model()
    await one.settle()
    await worker.report(status(1, "unhealthy", port=21001))
    async with one.db.read() as session:
        told = list(await session.exec(select(Event).where(Event.kind == "move").order_by("id")))
    edges = [(State(each.from_state or ""), State(each.to_state or "")) for each in told]
    assert edges[-1][1] == State.UNHEALTHY
    assert all(is_allowed(*edge) for edge in edges)


async def test_what_the_sentence_of_an_event_says_is_not_overwritten_by_its_numbers(
    one: Cluster, worker: FakeWorker
) -> None:
    await one.add_model()
    await one.settle()
    taken = {"code": "engine_port_taken", "params": {"port": 21001, "attempt": 1}}
    await worker.report(status(1, "starting", port=21002, attempt=2, pid=7, said=taken))
    async with one.db.read() as session:
        last = (await session.exec(select(Event).where(Event.kind == "move").order_by(col(Event.id).desc()))).first()
    assert last is not None
    assert (last.params["port"], last.params["attempt"], last.params["pid"]) == (21001, 1, 7)


@pytest.mark.parametrize(
    "given", [pytest.param({"epoch": 0}, id="an older epoch"), pytest.param({"epoch": 9}, id="an epoch to come")]
)
async def test_a_report_of_another_epoch_is_ignored(one: Cluster, worker: FakeWorker, given: dict[str, int]) -> None:
    await one.add_model()
    await one.settle()
    assert await worker.report(status(1, "ready"), **given) == frozenset()
    assert await one.states() == {1: "scheduled"}


async def test_a_status_of_another_workers_instance_is_ignored(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model()
    await one.settle()
    other = await one.add_worker(2)
    await other.report(status(1, "failed"))
    assert await one.states() == {1: "scheduled"}


async def test_the_same_report_twice_changes_nothing(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model()
    await one.settle()
    await worker.report(status(1, "ready", port=21001))
    before = await one.moves_of(1)
    assert await worker.report(status(1, "ready", port=21001)) == frozenset()
    assert await one.moves_of(1) == before


async def test_absence_means_nothing_while_the_worker_does_not_know_its_assignment(
    one: Cluster, worker: FakeWorker
) -> None:
    model_id, instance_id = await serving(one, worker)
    old = await worker.assignment()
    await one.delete_model(model_id)
    await one.settle()
    await worker.report(revision=old.revision)
    assert await one.states() == {instance_id: "stopping"}
    await worker.report()
    assert await one.states() == {}
    assert (await one.moves_of(instance_id))[-2:] == ["stopping", "instance_gone"]


async def test_an_instance_that_is_to_run_but_has_no_process_leaves_the_routes(
    one: Cluster, worker: FakeWorker
) -> None:
    _, instance_id = await serving(one, worker)
    old = await worker.assignment()
    await worker.report(revision=old.revision - 1)
    assert await one.states() == {instance_id: "ready"}
    await worker.report()
    await one.settle()
    assert await one.states() == {instance_id: "starting"}
    assert (latest(one).models or ())[0].endpoints == ()
    await worker.run_all()
    assert await one.states() == {instance_id: "ready"}


async def test_one_that_was_not_started_yet_is_not_missed(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model()
    await one.settle()
    await worker.report()
    assert await one.states() == {1: "scheduled"}


async def test_an_ending_instance_does_not_come_back_by_a_report(one: Cluster, worker: FakeWorker) -> None:
    model_id, instance_id = await serving(one, worker)
    await one.delete_model(model_id)
    await one.settle()
    await worker.report(status(instance_id, "ready", port=21001))
    assert await one.states() == {instance_id: "stopping"}


async def test_memory_of_a_dead_instance_is_free_before_the_next_reading(one: Cluster, worker: FakeWorker) -> None:
    model_id, _ = await serving(one, worker)
    await worker.beat(used_gib=15)
    await one.delete_model(model_id)
    await one.settle()
    await worker.report()
    async with one.db.read() as session:
        assert (await session.exec(select(WorkerDevice.memory_used_bytes))).one() == 1024**3


# --- silence ---------------------------------------------------------------------------------------------------------


async def test_a_silent_worker_loses_its_instances_after_the_grace(
    one: Cluster, worker: FakeWorker, clock: ManualClock
) -> None:
    await serving(one, worker)
    clock.advance(59)
    await one.settle()
    assert await one.states() == {1: "ready"}
    other = await one.add_worker(2)
    clock.advance(2)
    await one.settle()
    assert await one.states() == {1: "lost", 2: "scheduled"}
    assert (await worker.assignment()).instances == ()
    assert [each.id for each in (await other.assignment()).instances] == [2]
    assert (await one.instances())[0].holds_claim


async def test_a_worker_that_returns_ends_what_was_replaced(
    one: Cluster, worker: FakeWorker, clock: ManualClock
) -> None:
    await serving(one, worker)
    clock.advance(61)
    await one.settle()
    await worker.beat()
    await one.settle()
    await worker.report(status(1, "ready", port=21001), revision=0)
    assert (await one.states())[1] == "lost"
    await worker.report()
    await one.settle()
    assert await one.states() == {2: "scheduled"}


async def test_a_restarted_server_does_not_declare_everybody_lost(
    one: Cluster, worker: FakeWorker, clock: ManualClock, ports: Ports
) -> None:
    await serving(one, worker)
    clock.advance(2000)
    again = await make_cluster(one.db, ports, "b", grace_seconds=60)
    await again.settle()
    clock.advance(50)
    await again.settle()
    assert await again.states() == {1: "ready"}
    clock.advance(11)
    await again.settle()
    assert (await again.states())[1] == "lost"


async def test_a_heartbeat_that_another_server_took_counts(
    one: Cluster, worker: FakeWorker, clock: ManualClock, ports: Ports
) -> None:
    await serving(one, worker)
    other = FakeWorker(await make_cluster(one.db, ports, "a"), 1)
    for _ in range(4):
        clock.advance(30)
        await other.beat()
        await liveness_of(one)
    assert await one.states() == {1: "ready"}


async def liveness_of(one: Cluster) -> None:
    from gpustack_lite.server.liveness import step

    await step(one.core, one.heartbeats, one.silence)


async def test_a_replacement_comes_at_a_limited_rate(one: Cluster, clock: ManualClock) -> None:
    await one.add_worker(1, devices=20)
    await one.add_model(replicas=20)
    await one.settle()
    await FakeWorker(one, 1).run_all()
    clock.advance(61)
    from gpustack_lite.server import replicas as reconciler

    await liveness_of(one)
    wanted = [await reconciler.step(one.core) for _ in range(3)]
    assert wanted == [1.0, 1.0, None]
    assert sum(each.state == "pending" for each in await one.instances()) == 20


# --- routes and drain ------------------------------------------------------------------------------------------------


def latest(one: Cluster) -> RoutesReply:
    reply = one.publisher.newer(-1, -1, -1)
    assert reply is not None
    return reply


async def gateway_says(one: Cluster, revision: int, **leases: int) -> None:
    async with one.db.write() as session:
        row = await session.get(GatewayRow, "g") or GatewayRow(gateway_id="g", seen_at=one.core.ports.clock.wall())
        row.epoch, row.models_revision, row.leases = one.core.epoch, revision, leases
        row.seen_at = one.core.ports.clock.wall()
        session.add(row)


async def test_only_ready_instances_are_in_the_routes(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model()
    await one.settle()
    (route,) = latest(one).models or ()
    assert (route.state, route.endpoints, (route.loading or {})["worker"]) == ("starting", (), "w1")
    await worker.run_all()
    await one.settle()
    (route,) = latest(one).models or ()
    assert [(each.address, each.served_name) for each in route.endpoints] == [("127.0.0.1:21001", "m")]
    assert (route.state, route.said, route.loading) == ("ready", None, None)


async def test_a_gateway_gets_only_what_it_does_not_have(one: Cluster, worker: FakeWorker) -> None:
    await serving(one, worker)
    now = latest(one)
    assert one.publisher.newer(now.epoch, now.models_revision, now.credentials_revision) is None
    partly = one.publisher.newer(now.epoch, now.models_revision - 1, now.credentials_revision)
    assert partly is not None
    assert (partly.models, partly.credentials) == (now.models, None)
    assert one.publisher.newer(now.epoch - 1, now.models_revision, now.credentials_revision) == now


async def test_who_asks_for_all_that_is_new_waits_for_a_look_that_began_after_the_question(
    one: Cluster, worker: FakeWorker
) -> None:
    async def look() -> None:
        await asyncio.sleep(0)
        await one.publisher.step()

    await one.settle()
    await one.add_model()
    await asyncio.gather(one.publisher.catch_up(30), look())
    assert [route.name for route in latest(one).models or ()] == ["m"]
    await one.publisher.catch_up(0)


async def test_nothing_new_moves_no_revision(one: Cluster, worker: FakeWorker) -> None:
    await serving(one, worker)
    before = latest(one)
    await one.settle()
    assert latest(one) is before


async def test_a_stopping_instance_waits_for_the_gateway_and_its_streams(one: Cluster, worker: FakeWorker) -> None:
    model_id, instance_id = await serving(one, worker)
    old = latest(one).models_revision
    await gateway_says(one, old, **{str(instance_id): 1})
    await one.change_model(model_id, stopped=True)
    await one.settle()
    assert (latest(one).models or ())[0].endpoints == ()
    assert [each.id for each in (await worker.assignment()).instances] == [instance_id]
    await gateway_says(one, latest(one).models_revision, **{str(instance_id): 1})
    await one.settle()
    assert [each.id for each in (await worker.assignment()).instances] == [instance_id]
    await gateway_says(one, latest(one).models_revision)
    await one.settle()
    assert (await worker.assignment()).instances == ()
    assert (await one.instances())[0].left_routes_at_revision == old + 1


async def test_a_gateway_that_fell_silent_is_not_waited_for(
    one: Cluster, worker: FakeWorker, clock: ManualClock
) -> None:
    model_id, _ = await serving(one, worker)
    await gateway_says(one, 0)
    await one.change_model(model_id, stopped=True)
    clock.advance(55)
    await worker.beat()
    await one.settle()
    assert len((await worker.assignment()).instances) == 1
    clock.advance(6)
    await worker.beat()
    await one.settle()
    assert (await worker.assignment()).instances == ()


async def test_a_changed_model_is_replaced_new_first_where_there_is_room(one: Cluster) -> None:
    worker = await one.add_worker(1, devices=2)
    model_id, _ = await serving(one, worker)
    await one.change_model(model_id, generation=2, launch_generation=2)
    await one.settle()
    assert await one.states() == {1: "ready", 2: "scheduled"}
    await worker.run_all()
    await one.settle()
    assert await one.states() == {1: "stopping", 2: "ready"}


async def test_and_stops_first_where_there_is_none(one: Cluster, worker: FakeWorker) -> None:
    model_id, _ = await serving(one, worker)
    await one.change_model(model_id, generation=2, launch_generation=2)
    await one.settle()
    assert await one.states() == {1: "stopping", 2: "pending"}
    await worker.report()
    await one.settle()
    assert await one.states() == {2: "scheduled"}


# --- facts -----------------------------------------------------------------------------------------------------------

FACTS = {"format": "gguf", "path": "/models/real.gguf", "size_bytes": 1000}


async def test_a_worker_is_asked_for_facts_and_its_answer_places_the_instance(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model(backend="reads", source="m.gguf")
    await worker.beat(backend_versions=[{**FAKE_READS}])
    await one.settle()
    assert (await worker.assignment()).inspect == ("m.gguf",)
    assert await one.states() == {1: "pending"}
    topics = await worker.report(facts=[{"source": "m.gguf", "facts": FACTS}])
    assert "inspections" in topics
    await one.settle()
    assert [each.source for each in (await worker.assignment()).instances] == ["/models/real.gguf"]
    assert (await worker.assignment()).inspect == ()


FAKE_READS = {"backend": "reads", "version": "1", "device_kinds": ["cuda"], "source": "builtin", "installed": True}


async def test_a_refusal_is_asked_again_after_a_while_or_when_forgotten(
    one: Cluster, worker: FakeWorker, clock: ManualClock
) -> None:
    await one.add_model(backend="reads", source="m.gguf")
    await worker.beat(backend_versions=[{**FAKE_READS}])
    await one.settle()
    refused = {"source": "m.gguf", "refused": {"code": "source_missing", "params": {"source": "m.gguf"}}}
    await worker.report(facts=[refused])
    await one.settle()
    assert (await worker.assignment()).inspect == ()
    assert ((await one.instances())[0].said or {})["code"] == "source_missing"
    clock.advance(31)
    await worker.beat()
    await one.settle()
    assert (await worker.assignment()).inspect == ("m.gguf",)
    await worker.report(facts=[refused])
    async with one.db.write() as session:
        await inspections.forget_refusals(session, worker_id=1)
    await one.settle()
    assert (await worker.assignment()).inspect == ("m.gguf",)


async def test_facts_that_nobody_asked_for_are_not_kept(one: Cluster, worker: FakeWorker) -> None:
    assert await worker.report(facts=[{"source": "x", "facts": FACTS}]) == frozenset()
    async with one.db.read() as session:
        assert list(await session.exec(select(Inspection))) == []


async def test_devices_that_left_are_forgotten(one: Cluster, worker: FakeWorker) -> None:
    await worker.beat(devices=3)
    await worker.beat(devices=2)
    async with one.db.read() as session:
        assert sorted(await session.exec(select(WorkerDevice.index))) == [0, 1]
        assert list(await session.exec(select(ModelInstance))) == []
