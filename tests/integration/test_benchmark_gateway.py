import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TINY = ("--rounds", "1", "--seconds", "0.2", "--idle-connections", "20", "--large-body-mb", "1")


def test_the_gateways_benchmark_runs_and_nothing_in_it_fails() -> None:
    argv, env = [sys.executable, "-m", "benchmarks.gateway", *TINY], {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    rows = [line for line in found.stdout.splitlines() if line.startswith("| gpustack-lite | ")]
    assert len(rows) == 1
    assert "Failed requests: direct 0, gpustack-lite 0" in found.stdout
