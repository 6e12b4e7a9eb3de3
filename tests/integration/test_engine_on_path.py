"""A `llama-server` that is on PATH already is another version of the backend, and what runs when it is asked for."""

import sys
from pathlib import Path

import pytest

from backends.llama_cpp import LLAMA_CPP
from gpustack_lite.ports import Ports
from tests.fakes.smollm import smollm_path
from tests.harness import Platform
from worker import engines

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
WHEEL = LLAMA_CPP.versions()[0]


async def a_llama_server(folder: Path) -> Path:
    """Its command line over the real engine of the wheel, which has no `--device`: no wheel ships the program."""
    installed = await engines.ensure(WHEEL, folder, Ports())
    program = folder / "bin" / "llama-server"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "version: 11549 (abc1234)" >&2; exit 0; fi\n'
        'for each; do shift; case "$each" in --device|none) ;; *) set -- "$@" "$each" ;; esac; done\n'
        f'exec {installed.executable} -I {ROOT}/worker/runners/xllamacpp_server.py "$@"\n'
    )
    program.chmod(0o755)
    return program


async def test_an_engine_on_path_is_offered_and_serves(tmp_path: Path) -> None:
    program = await a_llama_server(tmp_path)
    model = smollm_path()
    path = f"{program.parent}:{Path(sys.executable).parent}:/usr/bin:/bin"
    with Platform(tmp_path, model_roots=[model.parent], env={"PATH": path}) as platform:
        offered = platform.api.get("/api/v1/backends/llama_cpp/versions").json()["items"]
        assert "path-11549" in [each["version"] for each in offered]
        platform.deploy(
            "smol", source=str(model), backend="llama_cpp", backend_version="path-11549", options={"threads": 1}
        )
        platform.wait_ready("smol", seconds=120)
        (instance,) = platform.instances("smol")
        assert instance["launch"]["argv"][0] == str(program)
        assert platform.chat("smol", "Say hello.", max_tokens=4)["choices"][0]["message"]["content"]
        assert not engines.folder_of(WHEEL, platform.data_dir).exists()
