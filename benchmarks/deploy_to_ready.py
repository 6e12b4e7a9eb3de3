"""From a deployment to READY and to the first answer, beside the engine alone from exec to its first healthy answer.

`python benchmarks/deploy_to_ready.py` starts a platform of its own; the engine alone has the platform's very argv.
"""

import argparse
import http.client
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))
from backends.base import Placed
from backends.llama_cpp import LLAMA_CPP
from gpustack_lite.hub import facts
from gpustack_lite.ports import Ports
from tests.fakes.smollm import smollm_path
from tests.harness import Document, Platform
from worker import engines
from worker.runtimes.environment import environment
from worker.workshop import RUNNER_DIR

NAME = "smol"
OPTIONS = {"max-model-len": 2048, "threads": 1}
ENGINE_POLL_SECONDS = 0.005
API_POLL_SECONDS = 0.01
ALONE_HEALTHY, ALONE_ANSWER = "engine alone: exec -> healthy", "engine alone: exec -> first chat answer"
READY, ANSWER = "POST -> READY in the API", "POST -> first chat answer"
Taken = dict[str, list[float]]


def until(is_so: Callable[[], bool], every_seconds: float, longest_seconds: float = 240) -> None:
    ends_at = time.monotonic() + longest_seconds
    while not is_so():
        assert time.monotonic() < ends_at, "it takes too long"
        time.sleep(every_seconds)


# --- the engine alone


def placed(data_dir: Path, shown: Document, port: int) -> Placed:
    """What the worker made of the deployment, whose instance shows its argv."""
    path = smollm_path()
    version = engines.installed(LLAMA_CPP.versions()[0], data_dir, Ports())
    assert version is not None
    return Placed(
        instance_id=1,
        model_name=NAME,
        source_path=str(path),
        facts=facts.read(path, [path.parent]),
        options=OPTIONS,
        env={},
        devices=(),
        port=port,
        workdir=shown["workdir"],
        engine_key="engine-key",
        context_length=OPTIONS["max-model-len"],
        cpu_count=os.cpu_count() or 1,
        version=version,
        runner_dir=str(RUNNER_DIR),
    )


def is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def is_answered(url: str, client: httpx.Client, key: str) -> bool:
    body = {"model": NAME, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    headers = {"Authorization": f"Bearer {key}"}
    return client.post(f"{url}/v1/chat/completions", json=body, headers=headers).status_code == 200


def engine_alone(data_dir: Path, shown: Document, port: int, client: httpx.Client, taken: Taken) -> None:
    spec = LLAMA_CPP.launch(placed(data_dir, shown, port))
    expected = [str(port) if each == str(shown["port"]) else each for each in shown["argv"]]
    assert list(spec.argv) == expected, f"not the platform's argv:\n{spec.argv}\n{expected}"
    env = environment(os.environ, {}, spec.env, "benchmark:1")
    with tempfile.TemporaryDirectory() as workdir, (Path(workdir) / "log").open("wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(
            spec.argv, env=env, cwd=workdir, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            until(lambda: is_healthy(port), ENGINE_POLL_SECONDS)
            note(taken, ALONE_HEALTHY, time.monotonic() - began)
            until(lambda: is_answered(f"http://127.0.0.1:{port}", client, "engine-key"), API_POLL_SECONDS)
            note(taken, ALONE_ANSWER, time.monotonic() - began)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


# --- the platform


def deploy(platform: Platform, client: httpx.Client, taken: Taken) -> Document:
    began = time.monotonic()
    platform.deploy(NAME, source=str(smollm_path()), options=OPTIONS)
    note(taken, "POST answered", time.monotonic() - began)
    until(lambda: platform.model(NAME)["state"] == "ready", API_POLL_SECONDS)
    note(taken, READY, time.monotonic() - began)
    until(lambda: is_answered(platform.url, client, platform.key()), API_POLL_SECONDS)
    note(taken, ANSWER, time.monotonic() - began)
    (instance,) = platform.instances(NAME)
    for state, seconds in seconds_by_state(platform, instance).items():
        note(taken, f"  of which {state}", seconds)
    return instance


def seconds_by_state(platform: Platform, instance: Document) -> dict[str, float]:
    """From the diary, whose times are the server's."""
    answer = platform.api.get("/api/v1/events", params={"instance": instance["id"]}).json()["items"]
    moves = sorted((each for each in answer if each["kind"] == "move"), key=lambda each: each["id"])
    times = [(str(each["to_state"]), datetime.fromisoformat(each["at"])) for each in moves]
    pairs = pairwise(times)
    return {f"{state} -> {then}": (end - start).total_seconds() for (state, start), (then, end) in pairs}


def remove(platform: Platform) -> None:
    assert platform.api.delete(f"/api/v1/models/{NAME}").is_success
    until(lambda: not platform.api.get("/api/v1/instances").json()["items"], 0.1)


# --- both


def note(taken: Taken, what: str, seconds: float) -> None:
    taken.setdefault(what, []).append(seconds)


def measure(platform: Platform, rounds: int) -> Taken:
    """Interleaved, after one round that installs the engine and fills the file cache."""
    taken: Taken = {}
    platform.key()  # made before anything is measured
    with httpx.Client(timeout=60, trust_env=False) as client:
        shown = deploy(platform, client, {})["launch"]
        remove(platform)
        for nth in range(rounds):
            engine_alone(platform.data_dir, shown, 20900 + nth, client, taken)
            deploy(platform, client, taken)
            remove(platform)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    with (
        tempfile.TemporaryDirectory() as folder,
        Platform(Path(folder), model_roots=[smollm_path().parent]) as platform,
    ):
        taken = measure(platform, rounds)
    print(f"| {rounds} rounds | median s | min | max |\n|---|---|---|---|")
    for what, values in taken.items():
        print(f"| {what} | {statistics.median(values):.3f} | {min(values):.3f} | {max(values):.3f} |")
    for alone, ours in ((ALONE_HEALTHY, READY), (ALONE_ANSWER, ANSWER)):
        more = statistics.median(mine - least for mine, least in zip(taken[ours], taken[alone], strict=True))
        print(f"{ours}: {more:+.3f} s beyond the engine alone (median of the rounds' differences)")


if __name__ == "__main__":
    main()
