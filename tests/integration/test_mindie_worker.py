"""A worker with an installed MindIE, as tests/fakes/mindieservice_daemon.py plays it: start, refusal, end, traces."""

import json
import os
import signal
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.wire import AssignedInstance
from tests.fakes import mindieservice_daemon
from tests.fakes.worker_run import WorkerRun, wait_for, worker_run

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerRun]:
    with worker_run(tmp_path) as run:
        yield run


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return mindieservice_daemon.install(tmp_path / "Ascend")


def model(folder: Path) -> Path:
    """A directory as people have it: readable by all, computing in bfloat16."""
    made = folder / "models" / "tiny"
    made.mkdir(parents=True)
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 100}
    says = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "torch_dtype": "bfloat16"}
    (made / "config.json").write_text(json.dumps(sizes | says))
    (made / "config.json").chmod(0o644)
    blob = folder / "models" / "blob"
    blob.write_text("{}")
    (made / "generation_config.json").symlink_to(blob)
    return made


def assigned(source: Path, *, id: int = 3, restart_limit: int = 1, **options: object) -> AssignedInstance:
    return AssignedInstance(
        id=id,
        model="org/tiny",
        generation=1,
        source=str(source),
        backend="mindie",
        engine_key="key",
        context_length=4096,
        options=options,
        restart_limit=restart_limit,
    )


def get(port: int | None, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_it_is_found_started_by_its_own_file_and_leaves_nothing(worker: WorkerRun, state: Path, tmp_path: Path) -> None:
    source = model(tmp_path)
    foreign = mindieservice_daemon.SHM / f"llm_tokenizer_shared_memory_{os.getpid()}_0"
    foreign.write_bytes(b"somebody else's")
    try:
        worker.server.assign(assigned(source, maxBatchSize=64))
        worker.start(ASCEND_ROOT=str(state.parent), MODEL_ROOTS=json.dumps([str(tmp_path)]))
        status = worker.server.wait_until(3, "ready")
        offered = worker.server.wait_for(lambda: worker.server.heartbeats)[-1].backend_versions
        assert ("path-2.1.RC1", "path") in [(each.version, each.source) for each in offered if each.backend == "mindie"]
        workdir = worker.data / "worker" / "instances" / "3"
        written = json.loads((workdir / "config.json").read_text())
        assert written["ServerConfig"]["ofThisVersionOnly"] == "kept"
        assert written["BackendConfig"]["ScheduleConfig"]["maxBatchSize"] == 64
        assert stat.S_IMODE((workdir / "config.json").stat().st_mode) == 0o640
        assert get(status.port, "/v1/models") == 200
        assert get(status.port, "/stopService") == 404
        assert get(written["ServerConfig"]["metricsPort"], "/metrics") == 200
        assert len(mindieservice_daemon.traces(state)) == 8 + 1
        worker.server.assign()
        wait_for(lambda: not worker.marked() and not mindieservice_daemon.traces(state))
        assert foreign.exists()
    finally:
        foreign.unlink()


def test_what_a_killed_one_leaves_does_not_keep_the_next_from_starting(
    worker: WorkerRun, state: Path, tmp_path: Path
) -> None:
    """Its backend process and its shared memory are ended and removed, also by a worker that only adopted it."""
    worker.server.assign(assigned(model(tmp_path), restart_limit=5))
    settings = {"ASCEND_ROOT": str(state.parent), "MODEL_ROOTS": json.dumps([str(tmp_path)])}
    worker.start(**settings)
    first = worker.server.wait_until(3, "ready")
    record = worker.data / "worker" / "instances" / "3.json"
    wait_for(lambda: json.loads(record.read_text())["segments"])
    worker.send(signal.SIGKILL)
    worker.start(**settings)
    wait_for(lambda: worker.output().count('"verdict": "adopt"') == 1)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    worker.server.wait_until(3, "ready", attempt=2)
    assert len(mindieservice_daemon.traces(state)) == 8 + 1
    worker.server.assign()
    wait_for(lambda: not worker.marked() and not mindieservice_daemon.traces(state))


def test_why_it_does_not_start_is_a_sentence(worker: WorkerRun, state: Path, tmp_path: Path) -> None:
    """What we know beforehand, what only its validator knows, and a chip that nobody told us of."""
    source = model(tmp_path)
    ours = assigned(source, id=4, maxIterTimes=5000)
    its_own = assigned(source, id=5, **{"BackendConfig.ScheduleConfig.maxNumThings": -1})
    worker.server.assign(ours, its_own)
    worker.start(ASCEND_ROOT=str(state.parent), MODEL_ROOTS=json.dumps([str(tmp_path)]))
    codes = [said(worker, each) for each in (4, 5)]
    mindieservice_daemon.tell(state, chip="310P3")
    worker.server.assign(ours, its_own, assigned(source, id=6))
    assert [*codes, said(worker, 6)] == ["mindie_config_refused", "mindie_key_outside", "mindie_bfloat16"]


def said(worker: WorkerRun, id: int) -> str:
    found = worker.server.wait_until(id, "failed").said
    assert found is not None
    return found.code
