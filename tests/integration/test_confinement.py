"""What holds of a real engine's process: where it lives, what it knows, what it may, and that it ends."""

import os
import pwd
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpustack_lite.lifecycle import State
from tests.fakes.worker_run import MOCK_ENGINE, WorkerRun, mock, wait_for, worker_run
from worker.runtimes import control_group

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
HIDING_ENGINE = MOCK_ENGINE.with_name("hiding_engine.py")
CANARIES = {
    "HF_TOKEN": "canary-hub-token",
    "HUGGING_FACE_HUB_TOKEN": "canary-old-hub-token",
    "MODELSCOPE_API_TOKEN": "canary-modelscope",
    "HF_TOKEN_PATH": "/canary-token-path",
    "HF_HOME": "/canary-hf-home",
    "AWS_SECRET_ACCESS_KEY": "canary-aws",
    "OPENAI_API_KEY": "canary-openai",
    "VLLM_API_KEY": "canary-vllm",
    "PGPASSWORD": "canary-database",
    "NVIDIA_API_KEY": "canary-nvidia",
    "HTTPS_PROXY": "http://canary-user:canary-password@proxy.test:3128",
    "SSH_AUTH_SOCK": "/canary-agent",
    "KUBECONFIG": "/canary-kube",
    "LD_PRELOAD_CANARY": "canary-preload",
    "PYTHONSTARTUP": "/canary-startup",
}
"""No PYTHONPATH: the worker itself is found by it here."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[WorkerRun]:
    with worker_run(tmp_path) as made:
        yield made


def ready(run: WorkerRun, *, id: int = 1, after: int | None = None) -> int:
    """The engine's pid; with `after` not that one."""

    def found() -> int | None:
        status = run.server.status(id)
        is_ready = status is not None and status.state is State.READY and status.pid != after
        return status.pid if is_ready and status is not None else None

    return int(wait_for(found))


def environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def said(pid: int, of: str, name: str) -> str:
    lines = Path(f"/proc/{pid}/{of}").read_text().splitlines()
    return next(line for line in lines if line.startswith(name)).removeprefix(name).strip(": \t")


def test_no_secret_of_the_worker_reaches_an_engine(run: WorkerRun, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ASCEND_HOME_PATH", "/cann")
    run.server.assign(mock(1))
    run.start(DATABASE_URL="postgresql://canary-of-ours")
    pid = ready(run)
    assert b"canary-hub-token" in Path(f"/proc/{run.pid}/environ").read_bytes()
    assert b"canary" not in Path(f"/proc/{pid}/environ").read_bytes()
    assert environment(pid)["ASCEND_HOME_PATH"] == "/cann"


def test_an_engine_has_a_home_of_its_own_that_nobody_else_may_read(run: WorkerRun) -> None:
    run.server.assign(mock(1))
    run.start()
    pid = ready(run)
    workdir = run.data / "worker" / "instances" / "1"
    told = environment(pid)
    assert Path(os.readlink(f"/proc/{pid}/cwd")) == workdir
    assert told["HOME"] == str(workdir / "home")
    assert all(told[name].startswith(str(workdir)) for name in told if name.startswith("XDG_"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (workdir, workdir / "home", workdir / "tmp")] == [0o700] * 3
    assert said(pid, "status", "Umask") == "0077"


def test_an_engine_leaves_no_core_and_gains_no_rights(run: WorkerRun) -> None:
    run.server.assign(mock(1))
    run.start(ENGINE_FILE_BYTES="1048576")
    pid = ready(run)
    assert said(pid, "status", "NoNewPrivs") == "1"
    assert said(pid, "limits", "Max core file size").split()[:2] == ["0", "0"]
    assert said(pid, "limits", "Max file size").split()[:2] == ["1048576", "1048576"]
    assert int(said(pid, "limits", "Max open files").split()[1]) <= 65_536


def test_what_is_run_is_the_engine_itself(run: WorkerRun) -> None:
    """Nothing of the program that confined it is left beside it."""
    run.server.assign(mock(1))
    run.start()
    process = psutil.Process(ready(run))
    assert (process.cmdline()[0], process.children()) == (sys.executable, [])
    assert "confined" not in " ".join(process.cmdline())


def test_a_program_that_is_not_there_is_a_reason(run: WorkerRun) -> None:
    run.server.assign(mock(1, restart_limit=1).model_copy(update={"backend_spec": described("/no/such/engine")}))
    run.start()
    status = wait_for(lambda: (found := run.server.status(1)) and found.gave_up and found)
    assert status.said.code == "engine_cannot_start"


def test_a_program_that_an_engine_hides_ends_with_it(run: WorkerRun, tmp_path: Path) -> None:
    """Where no control group can be made that is told instead, and the program is ours to end."""
    pid_file = tmp_path / "hidden"
    spec = described(sys.executable, "-P", str(HIDING_ENGINE), "{port}", str(pid_file))
    run.server.assign(mock(1).model_copy(update={"backend_spec": spec}))
    run.start()
    ready(run)
    hidden = psutil.Process(int(pid_file.read_text()))
    if control_group.found().base is None:
        hidden.kill()
        assert "confinement_no_groups" in run.output()
    run.server.assign()
    wait_for(lambda: run.server.status(1) is None)
    assert not hidden.is_running() or hidden.status() == psutil.STATUS_ZOMBIE


def test_a_group_is_kept_through_a_restart_of_the_worker_and_goes_with_the_engine(
    run: WorkerRun, tmp_path: Path
) -> None:
    pid_file = tmp_path / "hidden"
    spec = described(sys.executable, "-P", str(HIDING_ENGINE), "{port}", str(pid_file))
    run.server.assign(mock(1).model_copy(update={"backend_spec": spec}))
    run.start()
    before = ready(run)
    run.send(signal.SIGHUP)
    run.start()
    assert ready(run) == before
    hidden = psutil.Process(int(pid_file.read_text()))
    groups = control_group.found()
    if groups.base is None:
        hidden.kill()
    run.server.assign()
    wait_for(lambda: run.server.status(1) is None)
    assert not hidden.is_running() or hidden.status() == psutil.STATUS_ZOMBIE
    assert groups.base is None or not list(groups.base.glob(f"gpustack-lite-{run.uid}-*"))


def test_a_hidden_program_of_an_engine_whose_record_was_lost_is_ended_too(run: WorkerRun, tmp_path: Path) -> None:
    pid_file = tmp_path / "hidden"
    spec = described(sys.executable, "-P", str(HIDING_ENGINE), "{port}", str(pid_file))
    run.server.assign(mock(1).model_copy(update={"backend_spec": spec}))
    run.start()
    ready(run)
    hidden = psutil.Process(int(pid_file.read_text()))
    run.send(signal.SIGKILL)
    (run.data / "worker" / "instances" / "1.json").unlink()
    (run.data / "worker" / "assignment.json").unlink()
    if control_group.found().base is None:
        hidden.kill()
    run.server.assign()
    run.start()
    wait_for(lambda: not hidden.is_running() or hidden.status() == psutil.STATUS_ZOMBIE)
    wait_for(lambda: not run.marked())


def test_a_link_in_a_working_directory_leads_a_worker_that_is_root_nowhere(open_run: WorkerRun) -> None:
    """Engines share their account: one may put links into the directory of another."""
    run = open_run
    if os.geteuid() != 0:
        return
    spec = described("/usr/bin/python3", str(run.folder / "engine.py"), "--port", "{port}", "--exit-after-start", "0")
    victim = run.folder / "victim"
    (victim / "tmp").mkdir(parents=True)
    (victim / "tmp" / "precious").touch()
    planted = run.data / "worker" / "instances" / "1"
    planted.mkdir(parents=True)
    for name in ("home", "tmp"):
        (planted / name).symlink_to(victim / "tmp")
    run.server.assign(mock(1, restart_limit=1).model_copy(update={"backend_spec": spec}))
    run.start(ENGINE_USER="nobody")
    wait_for(lambda: (found := run.server.status(1)) and found.gave_up)
    assert (victim / "tmp" / "precious").exists()
    assert (victim / "tmp").stat().st_uid == 0


@pytest.fixture
def open_run() -> Iterator[WorkerRun]:
    """Below a directory that everybody may pass: those of pytest nobody else may."""
    folder = Path(tempfile.mkdtemp(prefix="confine-"))
    folder.chmod(0o755)
    shutil.copy(MOCK_ENGINE, folder / "engine.py")
    (folder / "engine.py").chmod(0o644)
    try:
        with worker_run(folder) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_engines_run_as_an_account_of_their_own(open_run: WorkerRun) -> None:
    """Adopted and ended as any other; what is the worker's own they cannot read, what is the model's they can."""
    run, account = open_run, pwd.getpwnam("nobody")
    model = run.data / "models" / "huggingface" / "m.gguf"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"weights")
    run.data.chmod(0o700)
    model.chmod(0o600)
    spec = described("/usr/bin/python3", str(run.folder / "engine.py"), "--port", "{port}", "--children", "2")
    run.server.assign(mock(1).model_copy(update={"backend_spec": spec}))
    run.start(ENGINE_USER="nobody")
    if os.geteuid() != 0:
        wait_for(lambda: "engine_user_needs_root" in run.output())
        return
    pid = ready(run)
    assert (psutil.Process(pid).uids().real, psutil.Process(pid).gids().real) == (account.pw_uid, account.pw_gid)
    assert environment(pid)["USER"] == "nobody"
    assert (run.data / "worker" / "instances" / "1").stat().st_uid == account.pw_uid
    assert "mock engine" in (run.data / "worker" / "logs" / "1" / "1.log").read_text()
    assert can_read(account, model)
    assert not any(can_read(account, path) for path in (run.data / "worker").glob("*.json"))
    assert not can_read(account, run.data / "worker" / "instances" / "1.json")
    run.send(signal.SIGHUP)
    run.start(ENGINE_USER="nobody")
    assert ready(run) == pid
    children = psutil.Process(pid).children(recursive=True)
    run.server.assign()
    wait_for(lambda: run.server.status(1) is None)
    assert len(children) == 2
    assert not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in children)
    assert run.marked() == []


def can_read(account: pwd.struct_passwd, path: Path) -> bool:
    """Asked by a process that is that account."""
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
        os._exit(0 if os.access(path, os.R_OK) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize(
    ("name", "code"), [("no-such-account", "engine_user_unknown"), ("root", "engine_user_is_root")]
)
def test_an_account_that_will_not_do_ends_the_worker_before_it_begins(run: WorkerRun, name: str, code: str) -> None:
    run.start(ENGINE_USER=name)
    assert run.process is not None
    assert run.process.wait(30) != 0
    assert code in run.output() or name in run.output()


def described(*command: str) -> dict[str, Any]:
    return {
        "name": "mock",
        "command": list(command),
        "probe": {"path": "/health", "deadline_seconds": 30},
        "claim": {"device_count": 0, "bytes_per_device": 0, "ram_bytes": 100_000_000},
    }
