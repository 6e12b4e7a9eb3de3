"""The SPEC of declared devices."""

import pytest

from gpustack_lite.chips import GIB, Declared, declared_devices, kind_of, parse_spec
from gpustack_lite.errors import Refusal


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param("8x910B3-64G", (Declared(8, "910B3", "ascend", 64 * GIB),), id="eight 910B3"),
        pytest.param("1xA100-80G", (Declared(1, "A100", "cuda", 80 * GIB),), id="one A100"),
        pytest.param(
            "2x310P3-24G, 1xMI300X-192G",
            (Declared(2, "310P3", "ascend", 24 * GIB), Declared(1, "MI300X", "rocm", 192 * GIB)),
            id="a mixture",
        ),
    ],
)
def test_a_spec_says_count_chip_and_memory(spec: str, expected: tuple[Declared, ...]) -> None:
    assert parse_spec(spec) == expected


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "8",
        "8x910B3",
        "0x910B3-64G",
        "8x910B3-64",
        "x910B3-64G",
        "-1x910B3-64G",
        "8x910B3-0G",
        "8x910B3-64G,",
        "8x91 0-64G",
    ],
)
def test_what_is_no_spec_is_refused_and_quoted(spec: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_spec(spec)
    assert refused.value.code == "bad_simulate_spec"
    assert refused.value.params == {"spec": spec}


def test_an_unknown_chip_is_refused_rather_than_guessed() -> None:
    with pytest.raises(Refusal, match="unknown_chip"):
        parse_spec("1xZX81-1G")


@pytest.mark.parametrize(
    ("chip", "kind"),
    [
        ("910B4-1", "ascend"),
        ("310P3", "ascend"),
        ("A30", "cuda"),
        ("A3", "ascend"),
        ("H20", "cuda"),
        ("RTX4090", "cuda"),
    ],
)
def test_the_kind_follows_from_the_name(chip: str, kind: str) -> None:
    assert kind_of(chip) == kind


@pytest.mark.parametrize(
    ("spec", "groups"),
    [
        ("8x910B3-64G", ["hccs-0"] * 4 + ["hccs-1"] * 4),
        ("4x310PDuo-48G", ["duo-0", "duo-0", "duo-1", "duo-1"]),
        ("2x910B3-64G,2x910B4-32G", ["hccs-0", "hccs-0", "hccs-1", "hccs-1"]),
        ("2xH100-80G", [None, None]),
    ],
)
def test_declared_devices_come_in_the_groups_of_real_hosts(spec: str, groups: list[str | None]) -> None:
    assert [each.group for each in declared_devices("w1", parse_spec(spec))] == groups


def test_declared_devices_are_numbered_through_and_say_that_they_are_simulated() -> None:
    devices = declared_devices("w1", parse_spec("2x910B3-64G,1x310P3-24G"))
    assert [device.address for device in devices] == ["w1:0", "w1:1", "w1:2"]
    assert [device.memory_total_bytes for device in devices] == [64 * GIB, 64 * GIB, 24 * GIB]
    assert all(device.simulated for device in devices)
