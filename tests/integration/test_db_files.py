"""Rows of model files: one for each wish, in the Assignment, told of by the worker, deleted when nobody needs them."""

from typing import Any

import pytest
from sqlmodel import col, select

from backends import registry
from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import model_files, moves
from gpustack_lite.db.queries.model_files import FilesWish
from gpustack_lite.db.tables import Change, Event, ModelFile
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from gpustack_lite.wire import FilesStatus
from tests.fakes.cluster import Cluster, FakeWorker, make_cluster, status
from tests.fakes.fake_backends import FakeBackend

pytestmark = pytest.mark.integration
SOURCE = "huggingface:org/name"


@pytest.fixture(autouse=True)
def fake_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find", {"fake": FakeBackend(needs_files=True)}.__getitem__)


@pytest.fixture
async def one(db: Database, ports: Ports) -> Cluster:
    return await make_cluster(db, ports, grace_seconds=60, drain_seconds=300)


@pytest.fixture
async def worker(one: Cluster) -> FakeWorker:
    return await one.add_worker(devices=2)


async def rows(one: Cluster) -> list[ModelFile]:
    async with one.db.read() as session:
        return list(await session.exec(select(ModelFile).order_by(col(ModelFile.id))))


def told(state: str, **more: Any) -> FilesStatus:
    return FilesStatus.model_validate({"id": 1, "state": state} | more)


async def test_a_placement_brings_its_files_and_replicas_share_them(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model(source=SOURCE, source_revision="v1", include=["*.gguf"], replicas=2)
    await one.settle()
    found = await worker.assignment()
    assert [(each.source, each.revision, each.include) for each in found.files] == [(SOURCE, "v1", ("*.gguf",))]
    assert [each.files_id for each in found.instances] == [1, 1]


async def test_two_workers_get_theirs(one: Cluster) -> None:
    first, second = await one.add_worker(1), await one.add_worker(2)
    await one.add_model(source=SOURCE, replicas=2, placement={"apart": True})
    await one.settle()
    ids = [each.id for worker in (first, second) for each in (await worker.assignment()).files]
    assert [(each.id, each.worker_id) for each in await rows(one)] == [(ids[0], 1), (ids[1], 2)]


async def test_another_revision_is_another_row(one: Cluster, worker: FakeWorker) -> None:
    model = await one.add_model(source=SOURCE)
    await one.settle()
    await worker.run_all()
    await one.change_model(model, source_revision="v2", generation=2, launch_generation=2)
    await one.settle()
    assert [(each.id, each.revision) for each in await rows(one)] == [(1, None), (2, "v2")]


async def test_a_simulated_worker_fetches_nothing(one: Cluster, worker: FakeWorker) -> None:
    await worker.beat(devices=2, simulated=True)
    await one.add_model(source=SOURCE)
    await one.settle()
    assert (await worker.assignment()).files == ()


async def test_progress_is_told_to_those_who_watch(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model(source=SOURCE)
    await one.settle()
    topics = await worker.report(
        status(1, "preparing"), files=(told("downloading", size_bytes=100, done_bytes=40, bytes_per_second=20.0),)
    )
    assert {"files", "changes"} <= topics
    async with one.db.read() as session:
        last = (await session.exec(select(Change).where(Change.kind == "file").order_by(col(Change.id)))).all()[-1]
    assert last.document is not None
    assert (last.document["done_bytes"], last.document["eta_seconds"]) == (40, 3.0)
    assert last.document["instances"] == [{"id": 1, "model": "m", "state": "preparing"}]
    assert await worker.report(status(1, "preparing"), files=(await same(one),)) == frozenset()


async def same(one: Cluster) -> FilesStatus:
    (row,) = await rows(one)
    return FilesStatus.model_validate({name: getattr(row, name) for name in FilesStatus.model_fields})


async def test_what_an_instance_needs_is_not_deleted(one: Cluster, worker: FakeWorker) -> None:
    await one.add_model(source=SOURCE)
    await one.settle()
    async with one.db.write() as session:
        row = await model_files.by_ref(session, "1")
        with pytest.raises(Refusal) as caught:
            await model_files.must_be_free(session, row)
    assert caught.value.params["instances"] == "m #1"


async def test_a_deletion_ends_when_the_worker_says_so(one: Cluster, worker: FakeWorker) -> None:
    clock = one.core.ports.clock
    async with one.db.write() as session:
        row = await model_files.ensure(session, 1, FilesWish(SOURCE), clock)
        await moves.change_assignment(session, 1)
        await model_files.want(session, row, "absent", clock)
    assert [each.wanted for each in (await worker.assignment()).files] == ["absent"]
    await worker.report(files=(told("ready"),))
    assert [each.state for each in await rows(one)] == ["waiting"]
    assert "assignments" in await worker.report(files=(told("gone"),))
    assert await rows(one) == []
    async with one.db.read() as session:
        assert "files_deleted" in [each.kind for each in await session.exec(select(Event))]


async def test_what_was_being_deleted_is_wanted_again_by_a_placement(one: Cluster, worker: FakeWorker) -> None:
    clock = one.core.ports.clock
    async with one.db.write() as session:
        row = await model_files.ensure(session, 1, FilesWish(SOURCE), clock)
        await model_files.want(session, row, "absent", clock)
    await one.add_model(source=SOURCE)
    await one.settle()
    await worker.report(status(1, "preparing"), files=(told("gone"),))  # late: it is of the time before
    assert [(each.id, each.wanted, each.state) for each in await rows(one)] == [(1, "present", "waiting")]
