"""Ascend devices from what npu-smi says, in every layout of its table."""

from dataclasses import replace

import pytest

from backends.custom import visible_devices
from gpustack_lite.chips import family_of
from gpustack_lite.domain import Device
from tests.fakes import npu_smi
from worker.devices import ascend, ascend_fields, ascend_table, links
from worker.devices.ascend import Said

MIB = 1024**2
DASHES = """
+--------------------------------------------------------------------------------------------------------+ \n\
| npu-smi 23.0.2.1                                 Version: 23.0.2.1                                     | \n\
+-------------------------------+-----------------+------------------------------------------------------+ \n\
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) | \n\
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        | \n\
+-------------------------------+-----------------+------------------------------------------------------+ \n\
| 32      310P3                 | OK              | NA           51                0     / 0             | \n\
| 0       1                     | 0000:02:00.0    | 7            21001/ 43757                            | \n\
+-------------------------------+-----------------+------------------------------------------------------+ \n\
| 0       310P3                 | OK              | NA           48                0     / 0             | \n\
| 0       0                     | NA              | 0            1500 / 44216                            | \n\
"""
BUSY_ELSEWHERE = """
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
| 0       0                 | 4711          |                          | 48208                   |
| 1       0                 | 4712          | VLLMEngineCor            | 60156                   |
| No running processes found in NPU 2                                                            |
"""


def found(machine: dict, **more: object) -> tuple[Device, ...]:
    table = ascend_table.parse(npu_smi.said(machine, "info"))
    mapping = ascend_fields.parse_mapping(npu_smi.said(machine, "info", "-m"))
    topo = links.parse(npu_smi.said(machine, "info", "-t", "topo")) if "topology" in machine else links.Links()
    return ascend.devices("w", Said(table, mapping, links=topo, **more))


def test_eight_910b3_in_two_islands() -> None:
    devices = found(npu_smi.a2())
    assert [each.index for each in devices] == list(range(8))
    assert [each.memory_used_bytes for each in devices] == [(3343 + n) * MIB for n in range(8)]
    assert {(each.chip, each.memory_total_bytes, each.health, each.schedulable) for each in devices} == {
        ("910B3", 65536 * MIB, "ok", True)
    }
    assert [each.group for each in devices] == ["hccs-0"] * 4 + ["hccs-1"] * 4
    assert (devices[0].power_w, devices[0].temperature_c, devices[0].utilization) == (91.9, 38, 0)


def test_an_a3_has_two_dies_for_each_npu_and_one_that_is_ill_takes_both() -> None:
    """Case C01: sixteen devices by physical id, power of the second die unknown, the dies of NPU 5 not usable."""
    machine = npu_smi.a3()
    for die in machine["cards"][5]["chips"]:
        die["health"] = "Alarm"
    devices = found(machine)
    assert [each.index for each in devices] == [each.physical_id for each in devices] == list(range(16))
    assert {each.chip for each in devices} == {"910C"}
    assert {each.memory_total_bytes for each in devices} == {65536 * MIB}
    assert [each.power_w for each in devices] == [178.8, None] * 8
    assert [each.index for each in devices if not each.schedulable] == [10, 11]
    assert {each.health for each in devices[10:12]} == {"alarm"}
    assert visible_devices(devices[11:12]) == {"ASCEND_RT_VISIBLE_DEVICES": "11"}
    by_table_alone = ascend.devices("w", Said(ascend_table.parse(npu_smi.said(machine, "info"))))
    assert [each.index for each in by_table_alone] == list(range(16))


def test_a_duo_card_is_two_devices_of_unequal_size_under_one_bus_id() -> None:
    devices = found(npu_smi.duo(1, 2, 4, 5))
    assert [each.index for each in devices] == list(range(8))
    assert [each.memory_total_bytes for each in devices] == [44280 * MIB, 43693 * MIB] * 4
    assert [each.power_w for each in devices] == [None] * 8
    assert [each.group for each in devices] == [f"duo-{npu}" for npu in (1, 1, 2, 2, 4, 4, 5, 5)]


def test_a_950_has_four_columns_and_does_not_number_its_chips() -> None:
    devices = found(npu_smi.a5(2))
    assert [(each.index, each.chip, each.memory_total_bytes) for each in devices] == [
        (0, "950PR", 131072 * MIB),
        (1, "950PR", 131072 * MIB),
    ]
    assert devices[0].power_w == 195.6


def test_the_first_910_calls_itself_910b_and_counts_its_hbm() -> None:
    chips = [
        npu_smi.card(n, npu_smi.chip(0, n, ddr=[1197, 13553], memory=[1365, 32768]), name="910B") for n in range(8)
    ]
    devices = found({"version": "24.1.0", "layout": "910", "cards": chips})
    assert {(each.chip, each.memory_total_bytes) for each in devices} == {("910A", 32768 * MIB)}
    assert [each.group for each in devices] == ["hccs-0"] * 4 + ["hccs-1"] * 4, "its two rings are known"


def test_dashes_everywhere_a_trailing_blank_a_glued_slash_and_npu_ids_with_gaps() -> None:
    devices = ascend.devices("w", Said(ascend_table.parse(DASHES)))
    assert [(each.index, each.memory_used_bytes, each.memory_total_bytes) for each in devices] == [
        (0, 1500 * MIB, 44216 * MIB),
        (1, 21001 * MIB, 43757 * MIB),
    ]
    assert devices[1].utilization == 7


@pytest.mark.parametrize(
    ("health", "expected", "is_usable"),
    [
        ("OK", "ok", True),
        ("Warning", "warning", True),
        ("Alarm", "alarm", False),
        ("Critical", "critical", False),
        ("UNKNOWN", "unknown", False),
    ],
)
def test_health(health: str, expected: str, is_usable: bool) -> None:
    machine = npu_smi.a2(1)
    machine["cards"][0]["chips"][0]["health"] = health
    device = found(machine)[0]
    assert (device.health, device.schedulable) == (expected, is_usable)


def test_what_an_absent_npu_does_not_tell_is_unknown_and_not_zero() -> None:
    dead = npu_smi.card(0, npu_smi.chip(health="UNKNOWN", power=0.0, temp=0, memory=[0, 0]))
    device = found({"version": "25.5.2", "layout": "910", "cards": [dead]})[0]
    assert (device.memory_total_bytes, device.memory_used_bytes) == (None, None)
    assert (device.power_w, device.temperature_c, device.utilization) == (None, None, None)


def test_processes_belong_to_their_chip_and_a_name_may_be_empty() -> None:
    text = npu_smi.said(npu_smi.a2(3, no_process_table=True), "info") + BUSY_ELSEWHERE
    devices = ascend.devices("w", Said(ascend_table.parse(text)))
    assert len(devices) == 3
    assert [(each.pid, each.name, each.memory_bytes) for device in devices for each in device.processes] == [
        (4711, "", 48208 * MIB),
        (4712, "VLLMEngineCor", 60156 * MIB),
    ]


def test_a_driver_that_is_half_installed_is_noticed() -> None:
    assert ascend_table.parse(npu_smi.said(npu_smi.a2(incomplete=True), "info")).is_incomplete
    assert not ascend_table.parse(npu_smi.said(npu_smi.a2(), "info")).is_incomplete


@pytest.mark.parametrize(
    ("logic", "count", "expected"),
    [
        pytest.param((0, 1, 2), 3, (0, 1, 2), id="a host, or a privileged container"),
        pytest.param((0, 1, 3), 4, (0, 1, 3), id="a chip that the table leaves out and CANN counts"),
        pytest.param((0, 1, 3), 3, (0, 1, 2), id="a chip that is gone"),
        pytest.param((4, 5), 2, (0, 1), id="a container or a VM that got the host's chips 4 and 5"),
        pytest.param((5, 4), 2, (1, 0), id="told in another order"),
        pytest.param((0, 1), 0, (0, 1), id="no mapping: the table's own column"),
        pytest.param((None, None), 2, (0, 1), id="no ids told: the order of the table"),
        pytest.param((3, 3), 2, (0, 1), id="ids told twice are no ids"),
        pytest.param((), 0, (), id="nothing"),
    ],
)
def test_what_an_engine_must_name(logic: tuple[int | None, ...], count: int, expected: tuple[int, ...]) -> None:
    assert ascend.visible_indices(logic, count) == expected


def test_a_vm_whose_npus_are_4_and_5_counts_from_zero() -> None:
    """gpustack#3352: the NPU ids were handed to CANN, which knows devices 0 and 1 only."""
    cards = [npu_smi.card(npu, npu_smi.chip(0, place)) for place, npu in enumerate((4, 5))]
    devices = found({"version": "25.5.1", "layout": "910", "cards": cards})
    assert [each.index for each in devices] == [0, 1]
    without_mapping = ascend.devices(
        "w", Said(ascend_table.parse(npu_smi.said({**npu_smi.a2(0), "cards": cards}, "info")))
    )
    assert [each.index for each in without_mapping] == [0, 1]


def test_a_container_with_node_3_only_has_device_0_on_davinci3() -> None:
    cards = [npu_smi.card(3, npu_smi.chip(0, 3))]
    device = found({"version": "25.5.1", "layout": "910", "cards": cards}, in_container=True, nodes=(3,))[0]
    assert (device.index, device.physical_id) == (0, 3)
    assert ascend.for_container([device]) == (("/dev/davinci3",), "0")


def test_the_nodes_of_an_engines_own_container_count_from_zero_there() -> None:
    devices = found(npu_smi.a2(), nodes=tuple(range(8)))
    assert ascend.for_container(devices[4:6]) == (("/dev/davinci4", "/dev/davinci5"), "0,1")
    assert ascend.for_container([replace(devices[0], physical_id=None)]) is None


def test_numa_by_bus_or_by_the_cpus_that_topo_tells() -> None:
    machine = npu_smi.a2()
    by_cpus = found(machine, cpus={0: frozenset(range(24)), 1: frozenset(range(24, 48))})
    assert [each.numa for each in by_cpus] == [0] * 4 + [1] * 4
    by_bus = found(machine, bus_numa={"0000:c1:00.0": 3})
    assert [each.numa for each in by_bus] == [3, *[None] * 7]


def test_islands_by_hccs_and_none_where_only_pci_joins() -> None:
    machine = npu_smi.a2(2, group=1)
    assert [each.group for each in found(machine)] == [None, None]


def test_codes_of_a_fault_are_kept_as_they_are_told() -> None:
    machine = npu_smi.a2(2)
    machine["cards"][1]["chips"][0] |= {"health": "Warning", "codes": ["80E01801", "80c98000"], "info": "node type=SOC"}
    told = ascend_fields.parse_health(npu_smi.said(machine, "info", "-t", "health", "-i", "1", "-c", "0"))
    assert told == ascend_fields.Faults(("80E01801", "80C98000"), "node type=SOC")
    assert found(machine, faults={(1, 0): told})[1].error_codes == ("80E01801", "80C98000")


def test_boards_tell_serials_which_two_chips_share() -> None:
    machine = npu_smi.duo(1)
    board = ascend_fields.parse_board(npu_smi.said(machine, "info", "-t", "board", "-i", "1"))
    assert (board.serial, board.firmware, board.driver) == ("SN0001", "7.5.0.1.129", "24.1.0.1")
    assert [each.serial for each in found(machine, boards={1: board})] == ["SN0001/0", "SN0001/1"]


def test_microcontrollers_are_no_chips() -> None:
    mapped = ascend_fields.parse_mapping(npu_smi.said(npu_smi.duo(1, 4), "info", "-m"))
    assert [(each.npu, each.chip, each.logic) for each in mapped] == [(1, 0, 0), (1, 1, 1), (4, 0, 2), (4, 1, 3)]


def test_counts_of_chips_and_processes_of_one() -> None:
    assert ascend_fields.parse_counts(npu_smi.said(npu_smi.duo(1, 2), "info", "-l")) == {1: 2, 2: 2}
    machine = npu_smi.a2(1)
    machine["cards"][0]["chips"][0]["processes"] = [{"pid": 207795, "name": "VLLMEngineCore", "mb": 55436}]
    text = npu_smi.said(machine, "info", "-t", "proc-mem", "-i", "0", "-c", "0")
    assert ascend_fields.parse_processes(text) == ((207795, "VLLMEngineCore", 55436),)


@pytest.mark.parametrize(
    ("chip", "family"),
    [
        ("910B3", "910b"),
        ("Ascend 910B4-1", "910b"),
        ("910C", "a3"),
        ("910_9391", "a3"),
        ("910A", "910"),
        ("910B", "910"),
        ("310P3", "310p"),
        ("310B4", "310b"),
        ("950PR", "950"),
        ("H100", None),
    ],
)
def test_families(chip: str, family: str | None) -> None:
    assert family_of(chip) == family
