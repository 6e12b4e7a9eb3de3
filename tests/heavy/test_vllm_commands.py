"""Every command line that we generate for CUDA, Ascend and the CPU, held against the parser of a real vLLM."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from backends.families import FAMILIES
from gpustack_lite.domain import LaunchSpec
from tests.fakes.vllm_flags import serving
from tests.fakes.vllm_python import vllm_ascend_packages, vllm_python
from tests.unit.backends.vllm_lines import lines

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.timeout(3600)]
CHECK = Path(__file__).parents[1] / "fakes" / "vllm_check.py"


def refused(argvs: list[list[str]], *paths: Path) -> list[str | None]:
    """`paths` stand before the packages of the environment; ours is no place to import from (-P)."""
    env = {**os.environ, "PYTHONPATH": ":".join(map(str, paths)), "VLLM_NO_USAGE_STATS": "1"}
    argv, given = [vllm_python(), "-P", CHECK], json.dumps(argvs)
    done = subprocess.run(argv, input=given, env=env, capture_output=True, text=True, timeout=900, check=True)
    answers: list[str | None] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_vllm_takes_every_one_of_them_and_every_parser_of_the_table(tmp_path: Path) -> None:
    made = [(name, written(spec, tmp_path)) for name, spec in lines()]
    parsers = [
        (each.name, ["m", *told("tool-call-parser", each.tools.vllm), *told("reasoning-parser", each.reasoning.vllm)])
        for each in FAMILIES
    ]
    said = refused([argv for _, argv in (*made, *parsers)])
    assert [(name, why) for (name, _), why in zip((*made, *parsers), said, strict=True) if why] == []


def written(spec: LaunchSpec, folder: Path) -> list[str]:
    """With the files that a worker would write, for vLLM looks whether they are there."""
    for name, text in spec.files.items():
        (folder / name).write_text(text)
    return [each.replace(spec.workdir, str(folder)) for each in serving(list(spec.argv))]


def told(option: str, value: str | None) -> list[str]:
    return [f"--{option}={value}"] if value else []


def test_vllm_ascend_takes_those_for_its_cards(tmp_path: Path) -> None:
    """Its plugin over vLLM 0.23, with a stand-in for torch_npu: nothing but the parser is asked."""
    made = [(name, written(spec, tmp_path)) for name, spec in lines() if "910" in name or "310" in name]
    said = refused([*(argv for _, argv in made), ["m", "--bogus=1"]], vllm_ascend_packages(), CHECK.with_name("no_npu"))
    assert "--bogus" in str(said.pop())
    assert [(name, why) for (name, _), why in zip(made, said, strict=True) if why] == []


def test_what_it_does_not_take_is_told_apart() -> None:
    bogus, good, parser = refused([["m", "--bogus=1"], ["m", "--seed=1"], ["m", "--reasoning-parser=bogus"]])
    assert good is None
    assert "unrecognized arguments" in str(bogus)
    assert "not registered" in str(parser)
