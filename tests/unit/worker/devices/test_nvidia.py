"""NVIDIA devices from nvidia-smi's answers, slices and unified memory included."""

import pytest

from backends.custom import visible_devices
from gpustack_lite.domain import DeviceProcess
from worker.devices import links, nvidia
from worker.devices.nvidia import Said

MIB, GIB = 1024**2, 1024**3
SHORT = ("index", "name", "memory.total", "memory.used", "utilization.gpu", "temperature.gpu")
CUT = "0, NVIDIA A100 80GB PCIe, 81920, [N/A], [N/A], 36\n1, NVIDIA A100 80GB PCIe, 81920, 4, 0, 34\n"
SLICES = """GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-aaaa)
  MIG 3g.40gb     Device  0: (UUID: MIG-00a)
  MIG 2g.20gb     Device  1: (UUID: MIG-00b)
GPU 1: NVIDIA A100 80GB PCIe (UUID: GPU-bbbb)
"""
XML = """<gpu id="00000000:07:00.0"><uuid>GPU-aaaa</uuid><fb_memory_usage><total>81920 MiB</total></fb_memory_usage>
<mig_devices><mig_device><index>0</index><fb_memory_usage><total>40192 MiB</total><used>12 MiB</used></fb_memory_usage>
</mig_device></mig_devices></gpu>"""
TOPO = """\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV12\tSYS\tSYS\tPXB\t0-31\t0\t\tN/A
GPU1\tNV12\t X \tSYS\tSYS\tPXB\t0-31\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tNV12\tSYS\t32-63\t1\t\tN/A
GPU3\tSYS\tSYS\tNV12\t X \tSYS\t32-63\t1\t\tN/A
NIC0\tPXB\tPXB\tSYS\tSYS\t X
"""


def row(*cells: str) -> str:
    return ", ".join(cells)


def test_a_plain_card() -> None:
    text = row(
        *("1", "NVIDIA A100-SXM4-40GB", "GPU-1", "1325000001", "00000000:4F:00.0", "40960", "2048", "12", "38"),
        *("75.20", "550.54.15", "8.0", "Disabled"),
    )
    rows = nvidia.parse_rows(text)
    device = nvidia.devices("w", Said(rows, bus_numa={"0000:4f:00.0": 1}))[0]
    assert (device.index, device.chip, device.serial, device.numa) == (1, "A100-SXM4-40GB", "1325000001", 1)
    assert (device.memory_total_bytes, device.memory_used_bytes) == (40960 * MIB, 2048 * MIB)
    assert (device.utilization, device.temperature_c, device.power_w) == (12, 38, 75.2)
    assert (device.health, device.schedulable, device.compute_capability) == ("ok", True, "8.0")
    assert nvidia.drivers(rows) == "550.54.15"


def test_a_gb10_tells_no_memory_because_it_has_the_machines() -> None:
    """Case C03."""
    device = nvidia.devices("w", Said(nvidia.parse_rows("0, NVIDIA GB10, [N/A], [N/A], 0, 36", SHORT)))[0]
    assert (device.chip, device.unified_memory, device.memory_total_bytes) == ("GB10", True, None)
    assert device.schedulable


def test_a_card_that_is_cut_takes_nothing_itself() -> None:
    """Case C05: two slices and the other card can be used, each slice under its UUID."""
    devices = nvidia.devices("w", Said(nvidia.parse_rows(CUT, SHORT), nvidia.parse_list(SLICES)))
    assert [(each.index, each.schedulable) for each in devices] == [(0, False), (1, True), (100, True), (101, True)]
    assert [each.utilization for each in devices] == [None, 0, None, None]
    assert not any(each.unified_memory for each in devices)
    assert [(each.memory_total_bytes or 0) // GIB for each in devices[2:]] == [38, 19], "classes of 40 and 20 GB"
    assert visible_devices(devices[2:3]) == {"CUDA_VISIBLE_DEVICES": "MIG-00a"}
    assert visible_devices(devices[1:2]) == {"CUDA_VISIBLE_DEVICES": "1"}


def test_the_memory_of_a_slice_is_read_from_the_long_answer() -> None:
    rows = tuple({**each, "uuid": "GPU-aaaa"} for each in nvidia.parse_rows(CUT, SHORT))
    said = Said(rows[:1], nvidia.parse_list(SLICES), nvidia.parse_slice_memory(XML))
    slices = [each for each in nvidia.devices("w", said) if each.visible_as]
    assert [(each.memory_total_bytes, each.memory_used_bytes) for each in slices] == [
        (40192 * MIB, 12 * MIB),
        (int(19 * GIB), None),
    ]


@pytest.mark.parametrize("word", ["[Unknown Error]", "[GPU is lost]", "ERR!", "[GPU requires reset]"])
def test_a_card_that_answers_with_errors_is_not_used(word: str) -> None:
    device = nvidia.devices("w", Said(nvidia.parse_rows(f"0, NVIDIA A10, {word}, {word}, {word}, {word}", SHORT)))[0]
    assert (device.health, device.schedulable, device.unified_memory) == ("critical", False, False)


def test_islands_of_nvlink_and_numa_nodes() -> None:
    told = links.parse(TOPO)
    rows = nvidia.parse_rows("\n".join(f"{n}, NVIDIA A100, 40960, 4, 0, 30" for n in range(4)), SHORT)
    devices = nvidia.devices("w", Said(rows, links=told))
    assert [(each.group, each.numa) for each in devices] == [("nvlink-0", 0)] * 2 + [("nvlink-1", 1)] * 2


def test_processes_by_card() -> None:
    told = nvidia.parse_processes("GPU-1, 4711, /usr/bin/python3, 2044\nGPU-1, [N/A], x, 3\nGPU-2, 5, y, [N/A]\n")
    assert told == {
        "GPU-1": (DeviceProcess(4711, "python3", 2044 * MIB),),
        "GPU-2": (DeviceProcess(5, "y", None),),
    }


def test_an_older_program_names_the_field_that_it_does_not_know() -> None:
    assert nvidia.unknown_field('Field "compute_cap" is not a valid field to query.\n') == "compute_cap"
    assert nvidia.unknown_field("0, NVIDIA A10") is None


def test_the_newest_cuda_that_the_driver_runs() -> None:
    assert nvidia.cuda_version("| NVIDIA-SMI 550.54.15  Driver Version: 550.54.15  CUDA Version: 12.4 |") == "12.4"
