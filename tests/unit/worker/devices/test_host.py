"""What the machine's files say: versions, device nodes, NUMA, and in what we run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from worker.devices import host

ASCEND = Path("/usr/local/Ascend")


def machine(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_nodes_are_numbers_and_other_names_are_not(tmp_path: Path) -> None:
    names = ["davinci0", "davinci12", "davinci_manager", "davinci3x", "null"]
    around = host.surroundings(machine(tmp_path, {f"dev/{name}": "" for name in names}))
    assert around.nodes == (0, 12)
    assert around.has_ascend
    assert not around.has_nvidia


def test_a_card_on_the_bus_counts_without_nodes_and_tells_its_numa_node(tmp_path: Path) -> None:
    pci = "sys/bus/pci/devices"
    files = {
        f"{pci}/0000:C1:00.0/vendor": "0x19e5\n",
        f"{pci}/0000:C1:00.0/device": "0xd802\n",
        f"{pci}/0000:C1:00.0/numa_node": "3\n",
        f"{pci}/0000:03:00.0/vendor": "0x10de\n",
        f"{pci}/0000:03:00.0/numa_node": "-1\n",
        f"{pci}/0000:00:00.0/vendor": "0x8086\n",
        f"{pci}/0000:00:00.0/numa_node": "0\n",
    }
    around = host.surroundings(machine(tmp_path, files))
    assert around.has_ascend
    assert around.bus_numa == {"0000:c1:00.0": 3}


def test_huaweis_network_cards_are_no_npus(tmp_path: Path) -> None:
    pci = "sys/bus/pci/devices/0000:04:00.0"
    around = host.surroundings(machine(tmp_path, {f"{pci}/vendor": "0x19e5\n", f"{pci}/device": "0x1822\n"}))
    assert not around.has_ascend


@pytest.mark.parametrize(
    ("files", "environ", "expected"),
    [
        ({}, {}, None),
        ({".dockerenv": ""}, {}, "docker"),
        ({"run/.containerenv": ""}, {}, "podman"),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"proc/1/cgroup": "0::/kubepods.slice/x"}, {}, "kubernetes"),
        ({"proc/1/cgroup": "0::/init.scope"}, {}, None),
        ({}, {"container": "lxc"}, "lxc"),
    ],
)
def test_in_what_we_run(tmp_path: Path, files: dict[str, str], environ: dict[str, str], expected: str | None) -> None:
    assert host.container(machine(tmp_path, files), environ) == expected


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n", "535.129.03"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n", "550.54.15"),
        ("", None),
    ],
)
def test_the_loaded_nvidia_driver(tmp_path: Path, text: str, version: str | None) -> None:
    root = machine(tmp_path, {"proc/driver/nvidia/version": text})
    assert host.report(root, ASCEND).nvidia_driver == version


def test_the_driver_is_where_its_installer_says(tmp_path: Path) -> None:
    files = {
        "etc/ascend_install.info": "Driver_Install_Path_Param=/opt/Ascend\n",
        "opt/Ascend/driver/version.info": "Version=24.1.0\ncompatible_version_fw=[6.4.0,6.4.99]\n",
        "usr/local/Ascend/driver/version.info": "Version=1.0\n",
    }
    assert host.report(machine(tmp_path, files), ASCEND).driver == "24.1.0"


def test_cann_by_the_environment_before_the_usual_places(tmp_path: Path) -> None:
    files = {
        "usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info": "version=8.2.RC1\n",
        "usr/local/Ascend/cann/x86_64-linux/ascend_toolkit_install.info": "version=9.1.0\n",
        "other/x86_64-linux/ascend_toolkit_install.info": "version=8.3.RC2\n",
    }
    root = machine(tmp_path, files)
    assert host.cann(root, ASCEND, {}) == "8.2.RC1"
    assert host.cann(root, ASCEND, {"ASCEND_TOOLKIT_HOME": str(root / "other")}) == "8.3.RC2"
    assert host.cann(tmp_path / "nothing", ASCEND, {}) is None
