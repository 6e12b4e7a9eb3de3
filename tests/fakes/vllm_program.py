"""A stand-in for the program `vllm`, with vLLM-Ascend beside it; `install` lays it out as an environment of Python.

It is no vLLM: it refuses the flags that the real one's help does not have, looks at the cards that it may see, and
answers as tests/fakes/openai_engine.py does, or starts a real vLLM for the CPU underneath. SIGUSR1 is the end of its
memory. Standard library only.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VERSION = "0.23.0"
OUT_OF_MEMORY = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity)"
SET_ENV = "export ASCEND_TOOLKIT_HOME={root} OMP_NUM_THREADS=64 ASCEND_RT_VISIBLE_DEVICES=99\n"
"""As CANN's own says more than we want, and as somebody's shell may have said it already."""


def install(folder: Path, cann: Path, *, underneath: Path | None = None) -> Path:
    """Makes `folder`/bin/vllm and the files of CANN to source. The folder is also where it is told and tells."""
    site = folder / "lib" / "python3.11" / "site-packages"
    for name in (f"vllm-{VERSION}+empty", f"vllm_ascend-{VERSION}"):
        (site / f"{name}.dist-info").mkdir(parents=True)
    program = folder / "bin" / "vllm"
    program.parent.mkdir()
    (folder / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    begin = f"#!{folder}/bin/python\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
    program.write_text(begin + f"from tests.fakes.vllm_program import main\nmain({str(folder)!r})\n")
    program.chmod(0o755)
    for name in ("ascend-toolkit", "nnal/atb"):
        (cann / name).mkdir(parents=True)
        (cann / name / "set_env.sh").write_text(SET_ENV.format(root=cann))
    (folder / "started").mkdir()
    if underneath is not None:
        (folder / "underneath").write_text(str(underneath))
    return folder


def started(folder: Path) -> list[dict[str, Any]]:
    """What each start was given, oldest first."""
    return [json.loads(path.read_text()) for path in sorted((folder / "started").iterdir())]


def tell(folder: Path, line: str | None) -> None:
    """What the next starts print before they end, None: they do not."""
    (folder / "last_words").write_text(line or "")


def main(state: str) -> None:
    from tests.fakes.vllm_flags import parser, serving

    folder, argv = Path(state), sys.argv[1:]
    given = parser(VERSION).parse_args(serving(argv))
    number = len(list((folder / "started").iterdir()))
    note = {"argv": argv, "env": dict(os.environ), "pid": os.getpid()}
    (folder / "started" / f"{number:04}.json").write_text(json.dumps(note))
    _look_at_cards(given.tensor_parallel_size)
    if words := _text(folder / "last_words"):
        _end(words)
    if python := _text(folder / "underneath"):
        _become(python, given)
    signal.signal(signal.SIGUSR1, lambda *_: _end(OUT_OF_MEMORY))
    _serve(int(given.port), folder)


def _look_at_cards(size: str) -> None:
    seen = [each for each in os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",") if each]
    if len(seen) != int(size) or any(int(each) > 7 for each in seen):
        _end(f"RuntimeError: Invalid device ID: {seen} for {size} ranks")


def _end(words: str) -> None:
    print(words, flush=True)
    os._exit(1)


def _become(python: str, given: Any) -> None:
    """The flags that a CPU has no use for are left out; what is served is real."""
    names = ("host", "port", "served_model_name", "max_model_len", "tool_call_parser", "chat_template")
    told = {name.replace("_", "-"): getattr(given, name) for name in names if getattr(given, name)}
    flags = [f"--{name}={value[0] if isinstance(value, list) else value}" for name, value in told.items()]
    tools = ["--enable-auto-tool-choice"] if given.tool_call_parser else []
    os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "PATH": f"{Path(python).parent}:{os.environ['PATH']}"}
    serve = ["-m", "vllm.entrypoints.cli.main", "serve", given.model_tag, "--max-num-seqs=4", "--enforce-eager"]
    os.execv(python, [python, *serve, *flags, *tools])


def _serve(port: int, folder: Path) -> None:
    from tests.fakes import openai_engine

    print("INFO: Application startup complete.", flush=True)
    asyncio.run(openai_engine.main(port, folder / "slow.log"))


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
