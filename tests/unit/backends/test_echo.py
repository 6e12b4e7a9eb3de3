import json
from dataclasses import replace
from typing import Any

import pytest

from backends.base import Backend, Placed, Want
from backends.echo import DEFAULT_EMBEDDING_DIMS, ECHO, KNOWN, Echo, stand_in
from backends.llama_cpp import LLAMA_CPP
from gpustack_lite.domain import Device, LaunchSpec
from gpustack_lite.errors import Refusal
from worker.runners.echo_server import EMBEDDING_DIMS

VERSION = replace(ECHO.versions()[0], executable="/usr/bin/python3")


def placed(**options: Any) -> Placed:
    return Placed(
        instance_id=1,
        model_name="m",
        source_path=None,
        facts=None,
        options={name.replace("_", "-"): value for name, value in options.items()},
        env={},
        devices=(Device("w", 0, "ascend", "910B3", 2**30, simulated=True),),
        port=21000,
        workdir="/data/1",
        engine_key="secret",
        context_length=2048,
        cpu_count=2,
        version=VERSION,
        runner_dir="/r",
    )


def script(spec: LaunchSpec) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(spec.argv[spec.argv.index("--script") + 1])
    return made


def test_it_is_a_backend() -> None:
    backend: Backend = Echo()
    assert not backend.needs_facts


def test_the_script_is_made_of_the_options_and_the_key_stays_out_of_argv() -> None:
    spec = ECHO.launch(placed(chunk_ms="5", words=3, device_count=1))
    assert script(spec) == {"chunk-ms": 5.0, "words": 3}
    assert spec.env["ECHO_API_KEY"] == "secret"
    assert not any("secret" in part for part in spec.argv)


def test_claims_are_what_the_options_say() -> None:
    (estimate,) = ECHO.estimates(None, Want({"device-count": 2, "bytes-per-device": 5, "ram-bytes": 7}))
    claim = estimate.claim
    assert (claim.device_count, claim.bytes_per_device, claim.ram_bytes) == (2, 5, 7)
    assert "cpu" not in claim.device_kinds
    assert "ascend" in claim.device_kinds


def test_without_options_it_claims_a_little_ram() -> None:
    (estimate,) = ECHO.estimates(None, Want())
    assert (estimate.claim.device_count, estimate.claim.device_kinds) == (0, frozenset({"cpu"}))
    assert 0 < estimate.claim.ram_bytes < 2**30


def test_in_place_of_another_engine_it_says_simulated_and_takes_none_of_its_options() -> None:
    real = replace(placed(temp=0.5), version=LLAMA_CPP.versions()[0])
    spec = stand_in(real, VERSION)
    assert script(spec) == {"simulated": True}
    assert spec.argv[0] == "/usr/bin/python3"


def test_an_echo_model_on_simulated_devices_keeps_its_script() -> None:
    assert script(stand_in(placed(words=3), VERSION)) == {"words": 3, "simulated": True}


@pytest.mark.parametrize("options", [{"word": 1}, {"words": "many"}, {"simulated": False}], ids=str)
def test_unknown_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(Refusal):
        ECHO.check(options, {})


def test_every_option_has_help() -> None:
    assert all(option.help for option in KNOWN.values())


def test_it_tells_what_it_can() -> None:
    able = ECHO.abilities(None, {"embedding-dims": 16})
    assert (able.paths, able.tools, able.embedding_dimensions) == (ECHO.paths, False, 16)
    assert ECHO.abilities(None, {}).embedding_dimensions == DEFAULT_EMBEDDING_DIMS == EMBEDDING_DIMS
