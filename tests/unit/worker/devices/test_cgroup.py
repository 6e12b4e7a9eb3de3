"""Limits of control groups, read from a made-up file system."""

from pathlib import Path

import pytest

from worker.devices.cgroup import Limits, limits, whole_cpus
from worker.devices.cpu import Machine, chip_name, within

GIB = 1024**3


def root(path: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return path


V2 = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, Limits(), id="no control groups"),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "max 100000\n", f"{V2}/memory.max": "max\n"},
            Limits(),
            id="v2 without limits",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "0::/\n",
                f"{V2}/cpu.max": "150000 100000\n",
                f"{V2}/memory.max": f"{4 * GIB}\n",
                f"{V2}/memory.current": f"{3 * GIB}\n",
                f"{V2}/memory.stat": f"anon 1\ninactive_file {GIB}\n",
            },
            Limits(1.5, 4 * GIB, 2 * GIB),
            id="v2 in a container, page cache not counted",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "0::/system.slice/us.service\n",
                f"{V2}/system.slice/memory.max": f"{2 * GIB}\n",
                f"{V2}/system.slice/memory.current": f"{GIB}\n",
                f"{V2}/system.slice/us.service/memory.max": f"{8 * GIB}\n",
                f"{V2}/system.slice/us.service/memory.current": "5\n",
                f"{V2}/system.slice/us.service/cpu.max": "400000 100000\n",
                f"{V2}/system.slice/cpu.max": "200000 100000\n",
            },
            Limits(2.0, 2 * GIB, GIB),
            id="v2 nested: the tightest counts",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n1:name=systemd:/x\n",
                f"{V2}/cpu/cpu.cfs_quota_us": "50000\n",
                f"{V2}/cpu/cpu.cfs_period_us": "100000\n",
                f"{V2}/memory/memory.limit_in_bytes": f"{GIB}\n",
                f"{V2}/memory/memory.usage_in_bytes": f"{GIB // 2}\n",
                f"{V2}/memory/memory.stat": "total_inactive_file 100\n",
            },
            Limits(0.5, GIB, GIB // 2 - 100),
            id="v1 with the host's path, which is not there",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "3:memory:/\n4:cpu:/\n",
                f"{V2}/memory/memory.limit_in_bytes": "9223372036854771712\n",
                f"{V2}/cpu/cpu.cfs_quota_us": "-1\n",
            },
            Limits(),
            id="v1 without limits",
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", f"{V2}/cpu.max": "junk\n", f"{V2}/memory.max": ""}, Limits(), id="junk"
        ),
    ],
)
def test_limits(tmp_path: Path, files: dict[str, str], expected: Limits) -> None:
    assert limits(root(tmp_path, files)) == expected


@pytest.mark.parametrize(("limit", "cpus"), [(None, 8), (0.5, 1), (1.5, 2), (4.0, 4), (64.0, 8)])
def test_whole_cpus(limit: float | None, cpus: int) -> None:
    assert whole_cpus(8, limit) == cpus


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(Limits(), Machine(8, 16 * GIB, 6 * GIB), id="no limit"),
        pytest.param(Limits(memory_bytes=99 * GIB), Machine(8, 16 * GIB, 6 * GIB), id="a limit above the machine"),
        pytest.param(Limits(2.0, 4 * GIB, GIB), Machine(2, 4 * GIB, GIB), id="the group's own use"),
        pytest.param(
            Limits(None, 12 * GIB, GIB),
            Machine(8, 12 * GIB, 2 * GIB),
            id="less is free on the machine than in the group",
        ),
    ],
)
def test_the_machine_within_its_limits(given: Limits, expected: Machine) -> None:
    assert within(8, 16 * GIB, 6 * GIB, given) == expected


def test_the_chip_of_a_cpu(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Kunpeng-920\n")
    assert chip_name(tmp_path / "cpuinfo") == "Kunpeng-920"
    assert chip_name(tmp_path / "missing")
