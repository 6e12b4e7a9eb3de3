"""How long programs take to start and what they hold while nothing happens: the command line, the server, the platform.

`python benchmarks/cli_start.py`; a bare interpreter is measured beside them, because it is the least that can be.
"""

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))
from gpustack_lite.cli import datadir
from gpustack_lite.ports import Ports
from tests.harness import ROOT, Platform, environment

CLI = (sys.executable, "-P", "-c", "from gpustack_lite.cli import main; main()")
"""As the installed script starts it."""
COMMANDS: dict[str, Sequence[str]] = {
    "python -c pass": (sys.executable, "-P", "-c", "pass"),
    "gpustack-lite --version": (*CLI, "--version"),
    "gpustack-lite --help": (*CLI, "--help"),
    "gpustack-lite models --help": (*CLI, "models", "--help"),
}
ROLES = ("server", "gateway-0", "worker")
IDLE_SECONDS = 20
Taken = dict[str, list[tuple[float, float]]]
"""Wall seconds and CPU seconds of each round."""


def of_command(argv: Sequence[str]) -> tuple[float, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(argv, env=environment(), stdout=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_server(data_dir: Path) -> tuple[float, float]:
    """From its start until it says that it is ready; the data directory is that of a server that ran before."""
    argv = (sys.executable, "-P", "-m", "gpustack_lite.cli.child", "server")
    told = {"GPUSTACK_LITE_CHILD": f'{{"data_dir": "{data_dir}"}}', "GPUSTACK_LITE_NO_WORKER": "true"}
    began = time.monotonic()
    process = psutil.Popen(argv, env=environment(**told), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: is_ready(data_dir / "run" / "server.sock"))
        wall, times = time.monotonic() - began, process.cpu_times()
        return wall, times.user + times.system
    finally:
        process.terminate()
        process.wait()


def is_ready(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) != 0:
            return False
        probe.sendall(b"GET /api/internal/readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        return b" 200 " in probe.recv(1000).partition(b"\r\n")[0]


def until(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends_at, "it takes too long"
        time.sleep(0.01)


def measure(rounds: int, folder: Path) -> Taken:
    """Interleaved, after one round that makes the database and the compiled files."""
    taken: Taken = {}
    data_dir = datadir.prepare(folder / "server", Ports()).root
    for nth in range(rounds + 1):
        found = {name: of_command(argv) for name, argv in COMMANDS.items()}
        found["server: start -> ready"] = of_server(data_dir)
        for name, each in found.items() if nth else ():
            taken.setdefault(name, []).append(each)
    return taken


def idle(folder: Path) -> None:
    """Own memory (RSS) and CPU of each process of a platform with one worker and no model."""
    with Platform(folder) as platform:
        platform.until(lambda: platform.api.get("/api/v1/workers").json()["total"] == 1, 30)
        pids = {"supervisor": platform.supervisor_pid, **{role: platform.pid(role) or 0 for role in ROLES}}
        processes = {role: psutil.Process(pid) for role, pid in pids.items()}
        time.sleep(5)
        before = {role: cpu_seconds(each) for role, each in processes.items()}
        time.sleep(IDLE_SECONDS)
        print("\n| idle | RSS MB | PSS MB | CPU % of a core |\n|---|---|---|---|")
        rows = [
            (role, each.memory_info().rss / 1e6, each.memory_full_info().pss / 1e6, cpu_seconds(each) - before[role])
            for role, each in processes.items()
        ]
        rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows), sum(row[3] for row in rows)))
        for role, rss, pss, seconds in rows:
            print(f"| {role} | {rss:.0f} | {pss:.0f} | {100 * seconds / IDLE_SECONDS:.1f} |")


def cpu_seconds(process: psutil.Process) -> float:
    return float(process.cpu_times().user + process.cpu_times().system)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(rounds, Path(folder))
        print(f"| {rounds} rounds | wall s, median | least | CPU s, median | least |\n|---|---|---|---|---|")
        for name, each in taken.items():
            wall, cpu = zip(*each, strict=True)
            words = [f"{value:.3f}" for value in (statistics.median(wall), min(wall), statistics.median(cpu), min(cpu))]
            print(f"| {name} | {' | '.join(words)} |")
    with tempfile.TemporaryDirectory() as folder:
        idle(Path(folder))


if __name__ == "__main__":
    main()
