"""The verdict on what a worker finds when it starts."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpustack_lite.domain import HttpProbe
from gpustack_lite.lifecycle import State
from gpustack_lite.ports import Identity, SystemDisk
from gpustack_lite.wire import AssignedInstance
from tests.fakes.processes import FakeProcesses
from worker.adoption import ProbeDoc, ProcessDoc, Record, Records, Verdict, is_its_engine, judge, strays, without_root

UID = "worker-uid"
ENGINE = Identity(100, 7, "boot")


def record(state: State = State.READY, process: Identity | None = ENGINE) -> Record:
    return Record(
        instance=AssignedInstance(id=4, model="m", generation=1, source="none:", backend="echo", engine_key="k"),
        state=state,
        since=datetime(2026, 1, 1, tzinfo=UTC),
        process=None if process is None else ProcessDoc.of(process),
        port=21000,
    )


def test_what_an_engine_is_asked_survives_the_worker() -> None:
    probe = HttpProbe("/r", 9.0, live_path="/l", port=3, busy=frozenset({503, 429}), dead=frozenset({500}))
    kept = record().model_copy(update={"probe": ProbeDoc.of(probe)})
    assert Record.model_validate_json(kept.model_dump_json()).probe.probe == probe


@pytest.mark.parametrize(
    ("state", "is_wanted", "is_alive", "verdict"),
    [
        pytest.param(State.READY, True, True, Verdict.ADOPT, id="alive and wanted"),
        pytest.param(State.UNHEALTHY, True, True, Verdict.ADOPT, id="sick, alive and wanted"),
        pytest.param(State.STARTING, True, True, Verdict.ADOPT, id="loading goes on"),
        pytest.param(State.READY, True, False, Verdict.RELAUNCH, id="died meanwhile"),
        pytest.param(State.FAILED, True, False, Verdict.RELAUNCH, id="was waiting for its next try"),
        pytest.param(State.READY, False, True, Verdict.END, id="deleted meanwhile"),
        pytest.param(State.READY, False, False, Verdict.END, id="deleted and dead"),
        pytest.param(State.STOPPING, True, True, Verdict.RELAUNCH, id="was being ended"),
    ],
)
def test_the_verdict_on_a_record(state: State, is_wanted: bool, is_alive: bool, verdict: Verdict) -> None:
    assert judge(record(state), is_wanted=is_wanted, is_alive=is_alive) is verdict


@pytest.mark.parametrize(
    ("living", "marks", "expected"),
    [
        pytest.param(ENGINE, {ENGINE: f"{UID}:4"}, True, id="the very process with our marker"),
        pytest.param(ENGINE, {}, True, id="its title was written over the marker"),
        pytest.param(ENGINE, {ENGINE: f"{UID}:5"}, False, id="another instance's marker"),
        pytest.param(Identity(100, 8, "boot"), {}, False, id="a recycled pid"),
        pytest.param(Identity(100, 7, "other boot"), {}, False, id="the machine was restarted"),
    ],
)
def test_only_the_very_process_is_taken_for_the_engine(
    living: Identity, marks: dict[Identity, str], expected: bool
) -> None:
    assert is_its_engine(record(), UID, FakeProcesses({living}), marks) is expected


def test_an_intent_without_a_process_is_not_an_engine() -> None:
    assert not is_its_engine(record(process=None), UID, FakeProcesses({ENGINE}), {})


def test_marked_processes_without_a_record_are_strays_and_foreign_ones_are_not() -> None:
    marks = {
        Identity(1, 1, "boot"): f"{UID}:4",
        Identity(2, 1, "boot"): f"{UID}:9",
        Identity(3, 1, "boot"): "other-worker:9",
    }
    assert list(strays(marks, UID, known=[4])) == [f"{UID}:9"]


def test_a_dead_root_is_forgotten_with_its_port() -> None:
    forgotten = without_root(record())
    assert (forgotten.process, forgotten.port, forgotten.attempt) == (None, None, 0)


def test_records_survive_and_unreadable_ones_are_dropped(tmp_path: Path) -> None:
    records = Records(tmp_path, SystemDisk())
    records.save(record())
    (records.directory / "5.json").write_text("{")
    assert records.load() == {4: record()}
    assert not (records.directory / "5.json").exists()
    records.forget(4)
    assert records.load() == {}
