"""What the worker reads of a running engine."""

from pathlib import Path

import pytest

from gpustack_lite.domain import Device, DeviceProcess
from gpustack_lite.ports import Identity
from gpustack_lite.wire import Measured
from worker import readings
from worker.measuring import is_news, merged, on_devices, said

MIB = 1024**2


def device(index: int, *processes: tuple[int, int]) -> Device:
    found = tuple(DeviceProcess(pid, memory_bytes=size) for pid, size in processes)
    return Device("w", index, "ascend", "910B3", 64 * 1024 * MIB, processes=found)


def test_the_fullest_device_counts_and_strangers_do_not() -> None:
    devices = [device(0, (10, 5), (99, 1000)), device(1, (10, 4), (11, 4))]
    assert on_devices(devices, {10, 11}) == 8
    assert on_devices(devices, {12}) is None


def test_the_most_of_each_is_kept() -> None:
    assert merged(Measured(ram_bytes=5, kv_bytes=3), Measured(ram_bytes=4, bytes_per_device=1)) == Measured(
        ram_bytes=5, kv_bytes=3, bytes_per_device=1
    )


@pytest.mark.parametrize(
    ("known", "found", "expected"),
    [
        (None, Measured(), False),
        (None, Measured(ram_bytes=1), True),
        (Measured(ram_bytes=1000), Measured(ram_bytes=1009), False),
        (Measured(ram_bytes=1000), Measured(ram_bytes=1020), True),
        (Measured(ram_bytes=1000), Measured(ram_bytes=1000, kv_bytes=1), True),
    ],
)
def test_small_growth_is_no_news(known: Measured | None, found: Measured, expected: bool) -> None:
    assert is_news(known, found) is expected


def test_an_engine_names_its_buffers_and_not_itself() -> None:
    found = said("llama_cpp", ["load_tensors:   CPU_Mapped model buffer size =    92.00 MiB"])
    assert (found.weights_bytes, found.ram_bytes) == (92 * MIB, None)


def test_what_several_processes_share_counts_once(tmp_path: Path) -> None:
    for pid, rss, pss in ((1, 100, 60), (2, 100, 60)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "status").write_text(f"VmRSS:\t{rss} kB\nRssAnon:\t10 kB\n")
        (tmp_path / str(pid) / "smaps_rollup").write_text(f"0-1 ---p 0 0 0 [rollup]\nRss:\t{rss} kB\nPss:\t{pss} kB\n")
    first, second = Identity(1, 1, "boot"), Identity(2, 1, "boot")
    assert readings.held_bytes([first], tmp_path) == 100 * 1024
    assert readings.held_bytes([first, second], tmp_path) == 120 * 1024
    (tmp_path / "2" / "smaps_rollup").unlink()
    assert readings.held_bytes([first, second], tmp_path) == 160 * 1024
