"""`gpustack-lite demo`: a real small model behind the OpenAI API in one command, proven and left running."""

import json
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpustack_lite.cli.background import Background
from gpustack_lite.cli.chat import ask, await_known
from gpustack_lite.cli.deploying import follow, newest_event
from gpustack_lite.cli.listening import holders
from gpustack_lite.cli.say import say, tell, write
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal
from gpustack_lite.hub.demo import FILE_NAME, fetch_demo_model
from gpustack_lite.ports import Ports

app = typer.Typer(rich_markup_mode=None, add_completion=False)
MODEL = "smollm2"
READY_SECONDS = 900.0
QUESTION = "What is the capital of France? Answer in one sentence."


@app.command(help=say("help_demo"))
def demo(
    folder: Annotated[Path, typer.Option(metavar="DIR", help=say("help_demo_folder"))] = Path(".demo"),
    port: Annotated[int, typer.Option(min=0, max=65535, envvar="PORT", help=say("help_port"))] = 9090,
    once: Annotated[bool, typer.Option("--once", help=say("help_demo_once"))] = False,
) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # like Ctrl-C: everything is ended in order
    ports = Ports()
    folder = folder.resolve()
    (folder / "model").mkdir(mode=0o700, parents=True, exist_ok=True)
    with Background(folder, port, ports) as platform:
        try:
            serve(folder, platform, ports)
        except Refusal as refusal:
            if refusal.code != "start_failed" or not holders(port):
                raise
            raise Refusal("demo_port_taken", said=refusal.params["said"], port=port + 1) from refusal
        if not once:
            tell("demo_runs")
            platform.wait()


def serve(folder: Path, platform: Background, ports: Ports) -> None:
    """From a platform that may just be starting to one that has answered, and what a person needs to go on."""
    tell("demo_starting")
    with platform.client() as client:
        if not (folder / "model" / FILE_NAME).exists():
            tell("demo_fetching")
        file = fetch_demo_model(folder / "model", ports)
        before = newest_event(client)
        ensure_deployed(client, file)
        follow(client, MODEL, READY_SECONDS, after_event=before)
        key = ensure_key(client, folder / "api_key", ports)
    prove(platform.url, key, ports)
    show_ways_in(platform, key)


def ensure_deployed(client: Client, file: Path) -> None:
    """Deployed from this very file and not stopped, whatever an earlier run left."""
    wanted = {"source": str(file), "backend": "llama_cpp", "replicas": 1}
    try:
        model = client.get("models", MODEL)
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        client.post("models", body={"name": MODEL, **wanted})
        return
    if any(model[key] != value for key, value in wanted.items()):
        client.patch("models", MODEL, body=wanted)
    if model["state"] in {"stopped", "failed"}:
        client.post("models", MODEL, "start")


def ensure_key(client: Client, path: Path, ports: Ports) -> str:
    """One key for all runs, kept in a file that only we can read."""
    kept = (ports.disk.read(path) or b"").decode().strip()
    if kept and any(kept.startswith(each["prefix"]) for each in client.items("keys")):
        return kept
    made = client.post("keys", body={"name": f"demo-{ports.randomness.unique_id()[:8]}"})
    ports.disk.replace(path, made["key"].encode())
    return str(made["key"])


def prove(url: str, key: str, ports: Ports) -> None:
    """One streamed chat completion, seen by the person."""
    tell("demo_asking", question=QUESTION)
    with Client(url, key) as client:
        await_known(client, ports.clock)
        ask(
            client, {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 64}, ports.clock
        )


def show_ways_in(platform: Background, key: str) -> None:
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]})
    write("")
    tell("demo_console", url=platform.url)
    if platform.password_file.exists():
        tell("demo_password", path=str(platform.password_file))
    tell("demo_key", key=key)
    tell("demo_command", command=own_command(platform.data_dir))
    write(f"curl {without_proxy()}{platform.url}/v1/chat/completions -H 'Authorization: Bearer {key}' \\")
    write(f"  -H 'Content-Type: application/json' -d '{body}'")
    write("")


def own_command(data_dir: Path) -> str:
    """This program as a shell finds it from anywhere, talking to this platform."""
    program = Path(sys.executable).with_name("gpustack-lite")
    return f"GPUSTACK_LITE_DATA_DIR={shlex.quote(str(data_dir))} {shlex.quote(str(program))}"


def without_proxy() -> str:
    """What curl needs where the shell names a proxy that knows nothing of this machine's own addresses."""
    names_one = any(os.environ.get(name) for name in ("http_proxy", "all_proxy", "ALL_PROXY"))
    return "--noproxy 127.0.0.1 " if names_one else ""
