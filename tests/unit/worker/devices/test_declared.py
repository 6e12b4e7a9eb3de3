"""Declared devices, from a SPEC or a file."""

from pathlib import Path

import pytest

from gpustack_lite import messages
from gpustack_lite.errors import Refusal
from worker.devices.declared import declaration
from worker.devices.detect import detect

GIB = 1024**3
GOOD = """
name: big
ram: 512G
cpu_count: 96
devices:
  - {chip: 910B3, memory: 64G, count: 2}
  - {chip: A100, memory_bytes: 85899345920}
"""


def test_a_spec() -> None:
    found = declaration("2x910B3-64G")
    assert [(each.kind, each.chip, each.memory_total_bytes) for each in found.devices("w")] == [
        ("ascend", "910B3", 64 * GIB)
    ] * 2


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "worker.yaml"
    path.write_text(GOOD)
    found = declaration(str(path))
    assert (found.name, found.ram_bytes, found.cpu_count) == ("big", 512 * GIB, 96)
    assert [(each.index, each.kind, each.memory_total_bytes) for each in found.devices("w")] == [
        (0, "ascend", 64 * GIB),
        (1, "ascend", 64 * GIB),
        (2, "cuda", 80 * GIB),
    ]


def test_what_is_declared_is_reported_as_simulated(tmp_path: Path) -> None:
    path = tmp_path / "worker.yaml"
    path.write_text(GOOD)
    inventory = detect("w", declaration(str(path)))
    assert inventory.simulated
    assert all(device.simulated for device in inventory.devices)
    machine = inventory.machine
    assert (machine.cpu_count, machine.ram_total_bytes, machine.ram_used_bytes) == (96, 512 * GIB, 0)
    assert [device.address for device in inventory.chosen((2, 0, 9))] == ["w:2", "w:0"]


def test_without_a_declaration_the_cpu_is_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.devices.detect.TOOLS", ())
    inventory = detect("w", None)
    assert not inventory.simulated
    assert [(device.kind, device.index) for device in inventory.devices] == [("cpu", 0)]
    assert inventory.machine.ram_total_bytes > 0


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        pytest.param("[]", "simulate_no_mapping", "/ must be a mapping", id="a list"),
        pytest.param("devices: []", "simulate_no_devices", "devices", id="no devices"),
        pytest.param("ram: 1G", "simulate_no_devices", "devices", id="devices missing"),
        pytest.param("devices: [5]", "simulate_no_mapping", "devices[0]", id="a number for a device"),
        pytest.param("devices: [{memory: 1G}]", "simulate_no_chip", "devices[0].chip", id="no chip"),
        pytest.param("devices: [{chip: 910B3}]", "simulate_no_memory", "devices[0].memory", id="no memory"),
        pytest.param("devices: [{chip: 910B3, memory: lots}]", "simulate_bad_size", "64G", id="no size"),
        pytest.param(
            "devices: [{chip: 910B3, memory: 1G, count: 0}]", "simulate_not_positive", "count", id="none of it"
        ),
        pytest.param(
            "devices: [{chip: 910B3, memory: 1G, count: true}]", "simulate_not_positive", "count", id="a truth"
        ),
        pytest.param(
            "devices: [{chip: 910B3, memory: 1G, colour: red}]", "simulate_unknown_key", "colour", id="a colour"
        ),
        pytest.param("devices: [{chip: Zilog, memory: 1G}]", "unknown_chip", "Zilog", id="an unknown chip"),
        pytest.param("devices: [{chip: 910B3, memory: 1G, count: 5000}]", "simulate_too_many", "4096", id="too many"),
        pytest.param(
            "devices: [{chip: 910B3, memory: 1G}]\ncpu_count: -1", "simulate_not_positive", "cpu_count", id="cpus"
        ),
        pytest.param("{", "simulate_file_unreadable", "cannot be read", id="no YAML"),
    ],
)
def test_a_wrong_file_is_one_clear_sentence(tmp_path: Path, content: str, code: str, words: str) -> None:
    path = tmp_path / "worker.yaml"
    path.write_text(content)
    with pytest.raises(Refusal) as caught:
        declaration(str(path))
    assert caught.value.code == code
    assert words in messages.text(caught.value.sentence)


@pytest.mark.parametrize("simulate", ["8x910B3", "x", "", "0x910B3-64G", "8x910B3-64G,"])
def test_a_wrong_spec_is_refused(simulate: str) -> None:
    with pytest.raises(Refusal) as caught:
        declaration(simulate)
    assert caught.value.code == "bad_simulate_spec"


def test_a_missing_file_is_said() -> None:
    with pytest.raises(Refusal) as caught:
        declaration("/nowhere/worker.yaml")
    assert caught.value.code == "simulate_file_unreadable"
