"""The real llama.cpp under our runner, without a worker."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import worker
from backends.base import Placed, Want
from backends.llama_cpp import LLAMA_CPP
from gpustack_lite.domain import BackendVersion, LaunchSpec
from gpustack_lite.hub import facts

WHEEL = LLAMA_CPP.versions()[0]
KEY = "engine-key"
RUNNERS = Path(worker.__file__).parent / "runners"
READY_SECONDS = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def spec_of(engine: BackendVersion, model: Path, workdir: Path, **options: Any) -> LaunchSpec:
    found = facts.read(model, [model.parent])
    estimate = LLAMA_CPP.estimates(found, Want(options))[0]
    return LLAMA_CPP.launch(
        Placed(
            instance_id=1,
            model_name="smol",
            source_path=found.path,
            facts=found,
            options=options,
            env={},
            devices=(),
            port=free_port(),
            workdir=str(workdir),
            engine_key=KEY,
            context_length=estimate.context_length,
            cpu_count=2,
            version=engine,
            runner_dir=str(RUNNERS),
        )
    )


@contextmanager
def running(spec: LaunchSpec, log: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            spec.argv, env={"PATH": os.environ["PATH"], **spec.env}, cwd=spec.workdir, stdout=output, stderr=output
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{spec.port}", timeout=60) as client:
            wait_until_ready(client, process, spec, log)
            yield client, process
    finally:
        process.kill()
        process.wait()


def wait_until_ready(client: httpx.Client, process: "subprocess.Popen[bytes]", spec: LaunchSpec, log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text(errors="replace")
        try:
            if client.get(spec.probe.path).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.02)
    raise AssertionError(log.read_text(errors="replace"))
