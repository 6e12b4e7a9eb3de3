"""What doctor says of facts."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack_lite.cli.checks import Check
from gpustack_lite.cli.host_checks import judged
from gpustack_lite.cli.host_facts import Engine, Facts, Link, Reached, links_in, named, told_by
from gpustack_lite.domain import BackendVersion, Device
from gpustack_lite.messages import CATALOGUE, text
from gpustack_lite.ports import Answer
from gpustack_lite.wire import HostReport, Said, ToolReport

GIB = 1024**3
CARDS = tuple(Device("w1", each, "ascend", "910B3", 64 * GIB, physical_id=each, health="ok") for each in range(2))
NODES = frozenset({"davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc"})
DRIVER = {
    "innerversion": "V100R001C21SPC008B208",
    "compatible_version": "[V100R001C17],[V100R001C21]",
    "compatible_version_fw": "[6.4.0,6.4.99],[7.0.0,7.7.99]",
}
CANN = {"innerversion": "V100R001C22SPC001B231", "compatible_version": "[V100R001C20],[V100R001C21]"}
BUILD = BackendVersion("vllm_ascend", "0.9.1", frozenset({"ascend"}), "path", installed=True)
GOOD = Facts(
    "w1",
    host=HostReport(driver="25.2.0", firmware="7.5.0.1.129", cann="8.2.RC1"),
    devices=CARDS,
    tools=(ToolReport(command="npu-smi info", status="pass"),),
    nodes=NODES,
    driver_info=DRIVER,
    cann_info=CANN,
    links=(Link(0, "192.0.2.10", "UP"), Link(1, "192.0.2.11", "UP")),
    links_from="hccn_tool",
    shm_bytes=4 * GIB,
    pids_limit=100_000,
    engines=(Engine(BUILD, {"torch": "2.5.1", "torch_npu": "2.5.1", "count": 2}),),
    reached=(Reached("server", "https://s:9090/healthz", skew_seconds=1.0),),
    prechecker=Answer("all well", returncode=0),
)


def problems(facts: Facts) -> dict[str, tuple[str, str]]:
    return {each.name: (each.status, each.said.code) for each in judged(facts) if each.status != "pass"}


def test_a_healthy_host_passes_every_check() -> None:
    assert problems(GOOD) == {}
    names = {each.name for each in judged(GOOD)}
    expected = {"npu-smi", "device_nodes", "driver", "cann", "firmware", "driver_cann", "vllm_ascend 0.9.1", "hccn"}
    assert names == expected | {"threads", "shm", "server", "clock_server", "msprechecker"}


@pytest.mark.parametrize(
    ("change", "name", "found"),
    [
        pytest.param({"nodes": NODES - {"davinci1"}}, "device_nodes", ("fail", "check_nodes_missing"), id="a node"),
        pytest.param(
            {"tools": (ToolReport(command="/usr/bin/npu-smi info", status="fail", said=Said(code="tool_no_list")),)},
            "npu-smi",
            ("fail", "tool_no_list"),
            id="the tool",
        ),
        pytest.param({"host": HostReport(cann="8.2.RC1")}, "driver", ("warn", "check_driver_unknown"), id="no driver"),
        pytest.param({"host": HostReport(driver="25.2.0")}, "cann", ("warn", "check_cann_unknown"), id="no CANN"),
        pytest.param(
            {"host": HostReport(driver="25.2.0", cann="8.2.RC1", firmware="1.83.10")},
            "firmware",
            ("fail", "check_firmware_differs"),
            id="firmware of another HDK",
        ),
        pytest.param(
            {"host": HostReport(driver="23.0.6", cann="8.2.RC1")},
            "driver_cann",
            ("fail", "driver_too_old"),
            id="too old",
        ),
        pytest.param(
            {"host": HostReport(driver="99.0.0", cann="8.2.RC1"), "cann_info": {}},
            "driver_cann",
            ("warn", "driver_unlisted"),
            id="newer than the lists",
        ),
        pytest.param(
            {"host": HostReport(driver="25.2.0", cann="9.1.0")},
            "vllm_ascend 0.9.1",
            ("fail", "cann_differs"),
            id="build",
        ),
        pytest.param(
            {"engines": (Engine(BUILD, why_not="libhccl.so: cannot open shared object file"),)},
            "vllm_ascend 0.9.1",
            ("fail", "check_engine_broken"),
            id="CANN is not sourced",
        ),
        pytest.param(
            {"engines": (Engine(BUILD, {"torch": "2.5.1", "count": 1}),)},
            "vllm_ascend 0.9.1",
            ("warn", "check_engine_sees_other"),
            id="a device is held by somebody",
        ),
        pytest.param({"links": (Link(0, "192.0.2.10", "DOWN"),)}, "hccn", ("warn", "check_links_down"), id="link down"),
        pytest.param({"links": (Link(0),)}, "hccn", ("warn", "check_links_without_ip"), id="no address"),
        pytest.param(
            {"links": (Link(0, "192.0.2.1"), Link(1, "192.0.2.1"))}, "hccn", ("warn", "check_links_same_ip"), id="twice"
        ),
        pytest.param({"pids_limit": 1024}, "threads", ("warn", "check_threads"), id="pids of the container"),
        pytest.param({"processes_limit": 4096}, "threads", ("warn", "check_threads"), id="ulimit -u"),
        pytest.param({"shm_bytes": 64 * 1024**2}, "shm", ("fail", "check_shm"), id="shm of a container"),
        pytest.param(
            {"reached": (Reached("server", "https://s", "refused"),)},
            "server",
            ("fail", "check_not_reached"),
            id="server",
        ),
        pytest.param(
            {"reached": (Reached("huggingface", "https://h", "no route"),)},
            "huggingface",
            ("warn", "check_not_reached"),
            id="a hub is no must",
        ),
        pytest.param(
            {"reached": (Reached("server", "https://s", skew_seconds=-90.0),)},
            "clock_server",
            ("warn", "check_skew"),
            id="clock",
        ),
        pytest.param(
            {"reached": (Reached("server", "https://s", skew_seconds=3600.0),)},
            "clock_server",
            ("fail", "check_skew"),
            id="clock of another hour",
        ),
        pytest.param(
            {"prechecker": Answer("x\nkernel too old", returncode=1)},
            "msprechecker",
            ("warn", "check_prechecker_bad"),
            id="prechecker",
        ),
        pytest.param(
            {"devices": (replace(CARDS[0], health="alarm", error_codes=("8C03A000",)), CARDS[1])},
            "fault",
            ("fail", "check_fault"),
            id="a sick card",
        ),
    ],
)
def test_what_is_wrong_is_said_once(change: dict[str, Any], name: str, found: tuple[str, str]) -> None:
    assert problems(replace(GOOD, **change))[name] == found


def test_a_newer_driver_is_judged_by_what_both_files_say() -> None:
    newer = replace(GOOD, host=HostReport(driver="99.0.0", cann="8.2.RC1"))
    assert "driver_cann" not in problems(newer)
    apart = replace(newer, driver_info=DRIVER | {"innerversion": "V900R001C01", "compatible_version": "[V900R001C01]"})
    assert problems(apart)["driver_cann"] == ("warn", "check_driver_cann_files_differ")


@pytest.mark.parametrize("devices", [(), (Device("w1", 0, "cpu", "x", GIB),), (replace(CARDS[0], simulated=True),)])
def test_a_machine_without_accelerators_is_asked_nothing_about_them(devices: tuple[Device, ...]) -> None:
    small = Facts("w1", devices=devices, pids_limit=100, shm_bytes=1, reached=(Reached("server", "http://s"),))
    assert [each.name for each in judged(small)] == ["server"]


def shown(check: Check) -> str:
    return text(check.said) + ("" if check.remedy is None else text(check.remedy))


def test_every_sentence_is_filled() -> None:
    sick = replace(
        GOOD,
        host=HostReport(driver="23.0.6", cann="8.2.RC1", firmware="1.0.0"),
        nodes=frozenset(),
        shm_bytes=1,
        pids_limit=1,
        links=(Link(0, None, "DOWN"),),
        engines=(Engine(BUILD, why_not="x"),),
        reached=(Reached("server", "https://s", "refused"),),
    )
    for each in (*judged(sick), *judged(GOOD)):
        assert each.said.code in CATALOGUE
        assert "?" not in shown(each), each


def test_the_cards_addresses_are_read_from_hccn_conf() -> None:
    found = list(links_in("address_0=192.0.2.10\nnetmask_0=255.255.255.0\naddress_1=192.0.2.11\n", [0, 1, 2]))
    assert [each.ip for each in found] == ["192.0.2.10", "192.0.2.11", None]


def test_a_vllm_on_path_is_named_by_what_its_own_python_says() -> None:
    found = Engine(BUILD, {"vllm": "0.23.0", "vllm_ascend": "0.23.0rc1"})
    assert (named(found).version.backend, named(found).version.version) == ("vllm_ascend", "path-0.23.0rc1")
    assert named(Engine(BUILD, why_not="x")).version == BUILD


def test_an_engine_without_a_python_is_held_against_the_host_alone() -> None:
    mindie = replace(BUILD, backend="mindie", version="path-2.2.RC1")
    found = problems(replace(GOOD, engines=(Engine(mindie),)))
    assert found == {"mindie path-2.2.RC1": ("fail", "cann_differs")}


def test_an_engine_that_warns_before_it_answers_is_heard() -> None:
    assert told_by(BUILD, Answer('warning: x\n{"torch": "2.5.1", "count": 2}\n', returncode=0)).told["count"] == 2
    broken = told_by(BUILD, Answer("", "ImportError: libhccl.so: cannot open", returncode=1))
    assert broken.why_not == "ImportError: libhccl.so: cannot open"
    assert told_by(BUILD, Answer(ended_by="deadline")).why_not == "deadline"
