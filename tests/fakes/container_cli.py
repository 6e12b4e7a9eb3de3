"""A program that plays docker or podman: run, ps, stop, rm, attach, pull and image inspect over described images.

It refuses what the real ones refuse: unknown flags, a name in use, an image that is not there, a volume that is not
there. What it runs are real processes, below a keeper of their own as below a daemon, so that they outlive the program
that started them. A chip that another container has makes the engine's driver say -8020, as on a host.
Standard library only: it runs without site packages.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

VALUED = {
    *("--name", "--label", "--network", "--log-driver", "--security-opt", "--shm-size", "--memory", "--user", "--gpus"),
    *("--group-add", "--device", "--volume", "--workdir", "--env-file", "--env", "--entrypoint", "--pull"),
}
PLAIN = {"--rm", "--init"}
BUSY = "dcmi model initialized failed, because the device is used. ret is -8020"


def put(folder: Path, name: str, images: dict, pullable: tuple[str, ...] = ()) -> Path:
    """A program `name` in `folder`; `images`: name -> {"programs": {inside: outside}, "roots": {inside: outside}}.

    Those in `pullable` have to be pulled first. The answer is its state.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / f"{name}.json"
    state.write_text(json.dumps({"images": images, "there": [each for each in images if each not in pullable]}))
    (folder / f"{name}.containers").mkdir(exist_ok=True)
    program = folder / name
    source = Path(__file__).resolve()
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{source}' '{state}' \"$@\"\n")
    program.chmod(0o755)
    return state


def containers(state: Path) -> dict[str, dict]:
    """What runs, by name."""
    found = {}
    for path in sorted(state.with_suffix(".containers").glob("*.json")):
        found[path.stem] = json.loads(path.read_text())
    return found


def runs(state: Path) -> list[list[str]]:
    """The arguments of each `run` so far."""
    log = state.with_suffix(".runs")
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


# --- the program


def fail(text: str, code: int = 125) -> int:
    print(text, file=sys.stderr)
    return code


def main(state: Path, arguments: list[str]) -> int:
    commands = {
        "run": run,
        "ps": ps,
        "stop": stop,
        "rm": remove,
        "attach": attach,
        "pull": pull,
        "image": image,
        "keep": watch,
    }
    command = commands.get(arguments[0] if arguments else "")
    if command is None:
        return fail(f"docker: '{arguments[:1]}' is not a docker command.", 1)
    return command(state, arguments[1:])


def described(state: Path) -> dict:
    return json.loads(state.read_text())


def folder(state: Path) -> Path:
    return state.with_suffix(".containers")


def parse(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    found: dict[str, list[str]] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in PLAIN:
            found[flag] = []
        elif flag in VALUED and rest:
            found.setdefault(flag, []).append(rest.pop(0))
        else:
            raise SystemExit(fail(f"unknown flag: {flag}\nSee 'docker run --help'."))
    return found, rest


def run(state: Path, arguments: list[str]) -> int:
    with state.with_suffix(".runs").open("a") as log:
        log.write(json.dumps(arguments) + "\n")
    flags, (name_of_image, *command) = parse(arguments)
    known = described(state)
    if name_of_image not in known["there"]:
        return fail(f"docker: Error response from daemon: No such image: {name_of_image}")
    inside = known["images"][name_of_image]
    if flags.get("--entrypoint") == ["cat"]:
        path = Path(outside(command[0], inside))
        if not path.is_file():
            return fail(f"cat: {command[0]}: No such file or directory", 1)
        print(path.read_text(), end="")
        return 0
    name = flags["--name"][0]
    if (folder(state) / f"{name}.json").exists():
        return fail(f'docker: Error response from daemon: Conflict. The container name "/{name}" is already in use')
    if missing := [each for each in flags.get("--volume", []) if not Path(each.split(":")[0]).exists()]:
        return fail(f"docker: Error response from daemon: invalid mount config: {missing[0]} does not exist")
    chips = [each for each in flags.get("--device", []) if each.startswith("/dev/davinci") and each[-1].isdigit()]
    taken = {each for other in containers(state).values() for each in other["devices"]}
    programs = inside.get("programs", {})
    argv = [programs.get(each) or outside(each, inside) for each in (*flags["--entrypoint"], *command)]
    if taken & set(chips):
        argv = ["/bin/sh", "-c", f"echo '{BUSY}'; exit 1"]
    flags["env"] = [outside(each, inside) for each in Path(flags["--env-file"][0]).read_text().splitlines()]
    keep(state, name, flags, chips, argv)
    return follow(state, name, 0)


def outside(text: str, inside: dict) -> str:
    """Where what lies in the image lies for us, who have no file system of its own for it."""
    for root, real in inside.get("roots", {}).items():
        text = text.replace(root, real)
    return text


def keep(state: Path, name: str, flags: dict, chips: list[str], argv: list[str]) -> None:
    """The keeper is no child of ours: two forks and a session of its own."""
    (folder(state) / f"{name}.out").write_bytes(b"")
    (folder(state) / f"{name}.exit").unlink(missing_ok=True)
    env = dict(line.split("=", 1) for line in flags["env"]) | dict(
        each.split("=", 1) for each in flags.get("--env", [])
    )
    env.setdefault("PATH", os.environ["PATH"])
    ready, told = os.pipe()
    os.set_inheritable(told, True)
    about = {"devices": chips, "labels": flags.get("--label", [])}
    given = {"name": name, "about": about, "argv": argv, "env": env, "workdir": flags["--workdir"][0], "told": told}
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            program = [sys.executable, "-I", "-S", __file__, str(state), "keep", json.dumps(given)]
            os.execve(program[0], program, {"PATH": os.environ["PATH"]})
        os._exit(0)
    os.wait()
    os.close(told)
    os.read(ready, 1)


def watch(state: Path, arguments: list[str]) -> int:
    """The keeper, with nothing of its starter's environment: it is the daemon's."""
    given = json.loads(arguments[0])
    name, argv, told = given["name"], given["argv"], given["told"]
    out = folder(state) / f"{name}.out"
    os.set_inheritable(told, False)
    with out.open("ab") as output:
        at = {"env": given["env"], "cwd": given["workdir"], "stdout": output, "stderr": output}
        try:
            child = subprocess.Popen(argv, **at, start_new_session=True)
        except OSError as error:
            output.write(f"docker: exec: {argv[0]}: {error.strerror}\n".encode())
            child = subprocess.Popen(["/bin/sh", "-c", "exit 127"])
    record = folder(state) / f"{name}.json"
    beside = folder(state) / f".{name}.new"
    beside.write_text(json.dumps({**given["about"], "pid": child.pid}))
    beside.replace(record)
    os.write(told, b"1")
    os.close(told)
    code = child.wait()
    record.unlink(missing_ok=True)
    (folder(state) / f"{name}.exit").write_text(str(128 - code if code < 0 else code))
    return 0


def follow(state: Path, name: str, offset: int) -> int:
    """Until it ends: its output, its exit code, and our signals to it."""

    def pass_on(signum: int, _: object) -> None:
        kill(state, name, signum)

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, pass_on)
    out, ended = folder(state) / f"{name}.out", folder(state) / f"{name}.exit"
    while True:
        is_over = ended.exists()
        with out.open("rb") as stream:
            stream.seek(offset)
            piece = stream.read()
        offset += len(piece)
        os.write(1, piece)
        if is_over:
            return int(ended.read_text() or 0)
        time.sleep(0.02)


def kill(state: Path, name: str, signum: int) -> None:
    found = containers(state).get(name)
    if found is not None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(found["pid"], signum)


def attach(state: Path, arguments: list[str]) -> int:
    name = next(each for each in arguments if each != "--no-stdin")
    if name not in containers(state):
        return fail(f"Error response from daemon: No such container: {name}", 1)
    return follow(state, name, (folder(state) / f"{name}.out").stat().st_size)


def ps(state: Path, arguments: list[str]) -> int:
    label = arguments[arguments.index("--filter") + 1].removeprefix("label=")
    for name, each in containers(state).items():
        if label in each["labels"]:
            print(name)
    return 0


def stop(state: Path, arguments: list[str]) -> int:
    seconds, name = float(arguments[arguments.index("--time") + 1]), arguments[-1]
    if name not in containers(state):
        return fail(f"Error response from daemon: No such container: {name}", 1)
    kill(state, name, signal.SIGTERM)
    ends_at = time.monotonic() + seconds
    while name in containers(state) and time.monotonic() < ends_at:
        time.sleep(0.02)
    return remove(state, [name])


def remove(state: Path, arguments: list[str]) -> int:
    name = arguments[-1]
    while name in containers(state):
        kill(state, name, signal.SIGKILL)
        time.sleep(0.02)
    print(name)
    return 0


def image(state: Path, arguments: list[str]) -> int:
    if arguments[-1] not in described(state)["there"]:
        return fail(f"Error: No such image: {arguments[-1]}", 1)
    print("sha256:0")
    return 0


def pull(state: Path, arguments: list[str]) -> int:
    known, name = described(state), arguments[-1]
    if name not in known["images"]:
        return fail(f"Error response from daemon: manifest for {name} not found: manifest unknown", 1)
    print(
        f"Pulling from {name}\n0a1b: Pulling fs layer\n0a1b: Pull complete\nStatus: Downloaded newer image for {name}"
    )
    known["there"].append(name)
    state.write_text(json.dumps(known))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
