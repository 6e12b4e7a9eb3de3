"""The command line against a real platform, as a person or a script uses it."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes import npu_smi
from tests.harness import CLI, Platform, cli, environment, until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with Platform(tmp_path_factory.mktemp("platform")) as running:
        yield running


@pytest.fixture(scope="module")
def echo(platform: Platform) -> str:
    done = run(platform, "models", "deploy", "echo", "--source", "none:", "--backend", "echo")
    assert done.returncode == 0, done.stderr
    assert "echo is READY" in done.stdout
    return "echo"


def run(platform: Platform, *arguments: str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return cli(*arguments, given=given, env={"GPUSTACK_LITE_DATA_DIR": str(platform.data_dir), **env})


@contextmanager
def background(*arguments: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on; it is ended with the block, however that ends."""
    child = subprocess.Popen(
        [*CLI, *arguments], env=environment(**env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with child:
        try:
            yield child
        finally:
            if child.poll() is None:
                child.terminate()


def document(platform: Platform, *arguments: str) -> Any:
    done = run(platform, *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_version_is_told_without_loading_anything() -> None:
    code = (
        "import sys; sys.argv = ['x', '--version']; from gpustack_lite.cli import main; main(); "
        "print(sorted({'typer', 'pydantic', 'httpx', 'rich', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.startswith("gpustack-lite ")


def test_help_speaks_chinese() -> None:
    assert "用法" in cli("--help", env={"GPUSTACK_LITE_LANG": "zh"}).stdout
    assert "运行" in cli("start", "--help", env={"GPUSTACK_LITE_LANG": "zh"}).stdout


@pytest.mark.parametrize(
    ("words", "completed"),
    [("gpustack-lite mod", ["models"]), ("gpustack-lite models de", ["deploy", "delete"])],
)
def test_a_shell_gets_completions(words: str, completed: list[str]) -> None:
    env = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert cli(env=env | {"_GPUSTACK_LITE_COMPLETE": "complete_bash"}).stdout.split() == completed


def test_a_terminal_without_our_characters_is_no_error() -> None:
    done = cli("--help", env={"GPUSTACK_LITE_LANG": "zh", "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpustack-lite chat qwen" in done.stdout


def test_a_reader_that_leaves_is_no_error() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{' '.join(CLI)} --help | true"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""


def test_a_deployment_tells_its_story_in_lines(platform: Platform) -> None:
    done = run(platform, "models", "deploy", "story", "--source", "none:", "--backend", "echo")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "story is created."
    assert lines[-1].startswith("story is READY after")
    moves = [line.split("  ")[2] for line in lines if " -> " in line]
    assert moves[0].endswith("-> pending")
    assert moves[-1].endswith("-> ready")
    assert run(platform, "models", "delete", "story").returncode == 0


def test_a_deployment_that_fails_ends_with_the_reason(platform: Platform, tmp_path: Path) -> None:
    spec = {"name": "dies", "command": ["/bin/sh", "-c", "echo LAST-WORDS; exit 1"], "device_kinds": ["cpu"]}
    (tmp_path / "dies.yaml").write_text(yaml.safe_dump(spec | {"claim": {"ram_bytes": 1_000_000}}))
    assert run(platform, "backends", "create", "-f", str(tmp_path / "dies.yaml")).returncode == 0
    platform.deploy("broken", source="none:", backend="dies", restart_limit=1)
    platform.until(lambda: platform.model("broken")["state"] == "failed", seconds=60)
    done = run(platform, "models", "logs", "broken")
    assert "LAST-WORDS" in done.stdout
    platform.api.delete("/api/v1/models/broken")


def test_ctrl_c_leaves_the_deployment(platform: Platform) -> None:
    arguments = ["models", "deploy", "waits", "--source", "none:", "--backend", "echo", "--device", "nowhere:0"]
    with background(*arguments, GPUSTACK_LITE_DATA_DIR=str(platform.data_dir)) as child:
        assert child.stdout is not None
        next(line for line in child.stdout if "waits waits:" in line)
        child.send_signal(signal.SIGINT)
        assert "goes on starting" in child.communicate(timeout=60)[0]
    assert child.returncode == 130
    assert platform.model("waits")["state"] == "pending"
    platform.api.delete("/api/v1/models/waits")


def test_a_model_is_shown_stopped_started_and_scaled(platform: Platform, echo: str) -> None:
    assert document(platform, "models", "show", echo) == platform.model(echo)
    assert run(platform, "models", "stop", echo).returncode == 0
    platform.until(lambda: platform.model(echo)["state"] == "stopped", seconds=30)
    assert run(platform, "models", "start", echo).returncode == 0
    assert platform.model(echo)["state"] == "ready"
    assert run(platform, "models", "scale", echo, "2").returncode == 0
    platform.until(lambda: platform.model(echo)["ready_replicas"] == 2, seconds=30)
    assert run(platform, "models", "scale", echo, "1").returncode == 0


def test_lists_in_json_are_the_apis_own(platform: Platform, echo: str) -> None:
    for noun in ("models", "instances", "keys", "users", "backends"):
        assert document(platform, noun, "list") == platform.api.get(f"/api/v1/{noun}").json()


def test_lists_as_tables_have_a_row_for_each(platform: Platform, echo: str) -> None:
    for noun in ("models", "instances", "workers", "devices", "events", "backends"):
        done = run(platform, noun, "list")
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) >= 2
    assert "Traceback" not in run(platform, "models", "show", echo).stderr


def test_chat_streams_and_tells_its_speed(platform: Platform, echo: str) -> None:
    done = run(platform, "chat", echo, "one two three four")
    assert done.returncode == 0, done.stderr
    assert "four" in done.stdout
    assert "TTFT" in done.stderr
    assert not [key for key in document(platform, "keys", "list")["items"] if key["name"].startswith("chat-")]


def test_a_route_gives_a_model_another_name(platform: Platform, echo: str) -> None:
    made = run(platform, "routes", "create", "org/gpt:latest", "--target", f"{echo}=9", "--target", "later")
    assert made.returncode == 0, made.stderr
    assert "later, which does not exist" in made.stdout
    assert "named words" in run(platform, "chat", "org/gpt:latest", given="named words").stdout
    changed = run(platform, "routes", "update", "org/gpt:latest", "--target", echo, "--fallback", echo)
    assert changed.returncode == 0, changed.stderr
    shown = document(platform, "routes", "show", "org/gpt:latest")
    assert (shown["targets"], shown["fallback"]) == ([{"model": echo, "weight": 1}], [echo])
    assert "echo=1" in run(platform, "routes", "list").stdout
    refused = run(platform, "models", "delete", echo, GPUSTACK_LITE_LANG="zh")
    assert (refused.returncode, "org/gpt:latest" in refused.stderr) == (1, True)
    assert run(platform, "routes", "update", "org/gpt:latest").returncode == 2
    assert run(platform, "routes", "create", "x").returncode == 2
    assert run(platform, "routes", "delete", "org/gpt:latest").returncode == 0
    assert document(platform, "routes", "list")["items"] == []


def test_chat_reads_a_pipe(platform: Platform, echo: str) -> None:
    assert "piped" in run(platform, "chat", echo, given="piped words").stdout


def test_a_key_is_shown_once_works_and_is_deleted(platform: Platform, echo: str) -> None:
    made = run(platform, "keys", "create", "app", "--model", echo).stdout.split()[-1]
    assert made.startswith("gpl_")
    assert made not in run(platform, "keys", "list", "-o", "json").stdout
    env = {"GPUSTACK_LITE_SERVER": platform.url, "GPUSTACK_LITE_API_KEY": made}
    until(lambda: cli("chat", echo, "hi", env=env).returncode == 0, 30)
    assert run(platform, "keys", "delete", "app").returncode == 0
    refused = cli("models", "list", env=env)
    assert refused.returncode == 1
    assert "gpustack-lite login" in refused.stderr


def test_a_request_is_found_by_the_id_that_its_answer_said(platform: Platform, echo: str) -> None:
    document_ = {"model": echo, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"Authorization": f"Bearer {platform.key()}", "X-Request-ID": "what-i-saw"}
    assert platform.api.post("/v1/chat/completions", json=document_, headers=headers).status_code == 200
    refused = platform.api.post("/v1/chat/completions", json=document_ | {"model": "no"}, headers=headers)
    assert refused.status_code == 404
    platform.until(lambda: document(platform, "requests", "list", "--request", "what-i-saw")["total"] == 2, seconds=30)
    (served,) = document(platform, "requests", "list", "--status", "2xx", "--request", "what-i-saw")["items"]
    assert (served["model"], served["why"], served["worker"] is None) == (echo, None, False)
    shown = run(platform, "requests", "show", "what-i-saw", GPUSTACK_LITE_LANG="zh").stdout
    assert "model_not_found" in shown
    assert "当时不存在模型 no" in shown
    assert served["request_id"] in run(platform, "requests", "list").stdout
    assert run(platform, "requests", "show", "never-seen").returncode == 1


def test_usage_is_summed(platform: Platform, echo: str) -> None:
    run(platform, "chat", echo, "count me")
    rows = platform.until(lambda: document(platform, "usage", "--by", "model")["items"], seconds=30)
    assert document(platform, "usage", "list")["items"] == rows
    assert {"model", "requests", "prompt_tokens"} <= set(rows[0])


def test_login_is_remembered_privately_and_serves_the_other_commands(
    platform: Platform, echo: str, tmp_path: Path
) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    first = document(platform, "users", "create", "ada", "--role", "admin")["password"]
    wrong = cli("login", platform.url, "-u", "ada", "--password-stdin", given="wrong\n", env=home)
    assert wrong.returncode == 1
    done = cli("login", platform.url, "-u", "ada", "--password-stdin", given=f"{first}\n", env=home)
    assert done.returncode == 0, done.stderr
    assert "must be changed first" in cli("models", "list", env=home).stderr
    assert "must be changed first" in cli("chat", echo, "too early", env=home).stderr
    changed = cli("users", "password", "--password-stdin", given=f"{first}\nquite another one\n", env=home)
    assert changed.returncode == 0, changed.stderr
    stored = tmp_path / "gpustack-lite/credentials.json"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert cli("models", "list", env=home).returncode == 0
    assert "by session" in cli("chat", echo, "by session", env=home).stdout
    assert run(platform, "users", "deactivate", "ada").returncode == 0
    assert cli("models", "list", env=home).returncode == 1
    assert run(platform, "users", "delete", "ada").returncode == 0


def test_a_join_token_brings_a_second_worker_without_being_seen(platform: Platform, tmp_path: Path) -> None:
    token = document(platform, "workers", "token")["token"]
    data_dir = str(tmp_path / "second")
    with background("join", platform.url, "--token", token, "--name", "second", "--data-dir", data_dir) as child:
        workers = platform.until(lambda: ready_workers(platform, "second"), seconds=90)
        assert workers[0]["hostname"]
        commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.parent.name.isdigit()]
        assert not any(token.encode() in command for command in commands)
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
    assert run(platform, "workers", "delete", "second", "--force").returncode == 0


def ready_workers(platform: Platform, name: str) -> list[dict[str, Any]]:
    workers = platform.api.get("/api/v1/workers").json()["items"]
    return [worker for worker in workers if (worker["name"], worker["state"]) == (name, "ready")]


def test_a_device_is_cordoned_with_a_note_and_used_again(platform: Platform) -> None:
    name = document(platform, "devices", "list")["items"][0]["worker"]
    done = run(platform, "devices", "cordon", f"{name}:0", "--note", "fan is loud")
    assert done.returncode == 0, done.stderr
    shown = document(platform, "devices", "show", f"{name}:0")
    assert (shown["cordoned"], shown["cordoned_by"], shown["cordon_note"]) == (True, "admin", "fan is loud")
    assert shown["schedulable"] is False
    assert "fan is loud" in run(platform, "devices", "list").stdout
    assert run(platform, "devices", "uncordon", str(shown["id"])).returncode == 0
    assert document(platform, "devices", "show", f"{name}:0")["schedulable"] is True
    kinds = {each["kind"] for each in document(platform, "events", "list")["items"]}
    assert {"device_cordoned", "device_uncordoned"} <= kinds
    missing = run(platform, "devices", "cordon", f"{name}:9")
    assert (missing.returncode, "There is no device named" in missing.stderr) == (1, True)


def test_doctor_needs_no_server_and_its_json_has_checks_and_devices(tmp_path: Path) -> None:
    done = cli("doctor", "--data-dir", str(tmp_path), "--simulate", "8x910B3-64G", "-o", "json")
    told = json.loads(done.stdout)
    assert [device["chip"] for device in told["devices"]] == ["910B3"] * 8
    assert {check["status"] for check in told["checks"]} <= {"pass", "warn", "fail"}
    assert done.returncode == any(check["status"] == "fail" for check in told["checks"])


def test_doctor_judges_a_host_by_what_its_tools_and_files_say(tmp_path: Path) -> None:
    machine = npu_smi.a2(2)
    machine["cards"][1]["chips"][0] |= {"health": "Alarm", "codes": ["8C03A000"]}
    npu_smi.install(tmp_path / "bin", machine)
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
    done = cli("doctor", "--data-dir", str(tmp_path), "-o", "json", env=env)
    told = json.loads(done.stdout)
    found = {each["name"]: (each["status"], each["code"]) for each in told["checks"]}
    assert done.returncode == 1
    assert found["npu-smi"] == ("pass", "check_tool")
    assert found["fault"] == ("fail", "check_fault")
    assert [each["error_codes"] for each in told["devices"]] == [[], ["8C03A000"]]
    assert [each["code"] for each in told["notes"]] == ["note_no_prechecker"]
    plain = cli("doctor", "--data-dir", str(tmp_path), env=env).stdout
    assert "8C03A000" in plain
    assert "msprechecker" not in plain


def test_doctor_asks_the_server_that_it_knows(platform: Platform) -> None:
    done = run(platform, "doctor", "-o", "json", HF_HUB_OFFLINE="1", GPUSTACK_LITE_PORT=str(free_port()))
    found = {each["name"]: each["status"] for each in json.loads(done.stdout)["checks"]}
    assert (found["server"], found["clock_server"]) == ("pass", "pass")
    gone = run(platform, "doctor", "--server", f"http://127.0.0.1:{free_port()}", "-o", "json", HF_HUB_OFFLINE="1")
    said = {each["name"]: each for each in json.loads(gone.stdout)["checks"]}
    assert (gone.returncode, said["server"]["status"], bool(said["server"]["remedy"])) == (1, "fail", True)


def test_doctor_plans_a_change_of_the_driver(tmp_path: Path) -> None:
    asked = ("doctor", "--data-dir", str(tmp_path), "--simulate", "8x910B3-64G")
    rows = json.loads(cli(*asked, "--plan", "driver=24.1.0", "-o", "json").stdout)["plan"]
    then = {(each["backend"], each["version"]): each["then"] for each in rows}
    assert (then["vllm_ascend", "0.23.0"], then["vllm_ascend", "0.9.1"]) == ("wrong", "ok")
    assert all(each["source"] or each["then"] == "unknown" for each in rows)
    bad = cli(*asked, "--plan", "kernel=6")
    assert (bad.returncode, "NAME=VERSION" in bad.stderr) == (1, True)


def test_doctor_fails_where_a_check_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = cli("doctor", "--data-dir", str(tmp_path / "file"), "--port", str(free_port()), "-o", "json")
    assert done.returncode == 1
    (failed,) = [check for check in json.loads(done.stdout)["checks"] if check["status"] == "fail"]
    assert failed["name"] == "data_dir"
    assert failed["remedy"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_password_is_reset_on_the_servers_own_host(platform: Platform, tmp_path: Path) -> None:
    password = document(platform, "users", "reset-password", "admin")["password"]
    home = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    assert cli("login", platform.url, "--password-stdin", given=password + "\n", env=home).returncode == 0


def test_a_server_that_is_down_is_told_by_its_folder(tmp_path: Path) -> None:
    with Platform(tmp_path) as running:
        running.stop()
        done = run(running, "models", "list")
    assert done.returncode == 1
    assert f"gpustack-lite start --data-dir {running.data_dir}" in done.stderr
