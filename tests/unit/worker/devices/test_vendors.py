"""The other vendors' tools, as far as anybody showed what they print."""

import json

from worker.devices import amd, others

MIB, GIB = 1024**2, 1024**3
RADEON = {
    "Device Name": "Navi 31 [Radeon RX 7900 XTX]",
    "Unique ID": "0x1",
    "Temperature (Sensor edge) (C)": "45.0",
    "Temperature (Sensor junction) (C)": "51.0",
    "Average Graphics Package Power (W)": "53.0",
    "GPU use (%)": "100",
    "Serial Number": "N/A",
    "VRAM Total Memory (B)": "25753026560",
    "VRAM Total Used Memory (B)": "1048576",
}
HYGON = (
    '{"card0": {"Card Series": "K100_AI", "Serial Number": "T1", "Average Graphics Package Power (W)": "77.0"'
    '"Average GFX Core Power (W)": "20.0", "Temperature (Sensor junction) (C)": "35.0", "HCU use (%)": "0.5", "": "", '
    '"": "", "vram Total Memory (MiB)": "65520", "vram Total Used Memory (MiB)": "2"}}'
)
CNMON = """
| Card  VF  Name       Firmware |               Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | SR-IOV   Compute-Mode |
|===============================+======================+=======================|
| 1     /   MLU370-X8    v1.1.6 |         0000:1C:00.0 | 35%               N/A |
|  0%   44C         63 W/ 250 W |  2048 MiB/ 42396 MiB | N/A           Default |
+-------------------------------+----------------------+-----------------------+
"""
MX_SMI = """
| GPU     NAME         Persistence-M | Bus-id              | GPU-Util      sGPU-M |
|====================================+=====================+======================|
| 1       MetaX C500             Off | 0000:21:00.0        | 12%           Native |
| 40C     88W / 350W              P0 | 858/65536 MiB       | Available            |
"""


def test_an_amd_card_by_rocm_smi() -> None:
    device = amd.from_rocm_smi("w", json.dumps({"card1": RADEON, "system": {}}))[0]
    assert (device.kind, device.index, device.chip, device.serial) == ("rocm", 1, "Radeon RX 7900 XTX", "0x1")
    assert (device.memory_total_bytes, device.memory_used_bytes) == (25753026560, MIB)
    assert (device.utilization, device.temperature_c, device.power_w) == (100, 51, 53)


def test_amd_smi_counts_otherwise_than_hip_and_says_na() -> None:
    metric = {
        "gpu_data": [
            {
                "gpu": 1,
                "usage": {"gfx_activity": {"value": 94, "unit": "%"}},
                "power": {"socket_power": "N/A"},
                "mem_usage": {
                    "total_vram": {"value": 196592, "unit": "MB"},
                    "used_vram": {"value": 284, "unit": "MB"},
                },
            }
        ]
    }
    static = [{"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X", "asic_serial": "0xA"}}]
    device = amd.from_amd_smi("w", json.dumps(static), json.dumps(metric), json.dumps([{"gpu": 1, "hip_id": 0}]))[0]
    assert (device.index, device.visible_name, device.chip, device.serial) == (1, "0", "MI300X", "0xA")
    assert (device.memory_total_bytes, device.memory_used_bytes) == (196592 * MIB, 284 * MIB)
    assert (device.utilization, device.power_w) == (94, None)


def test_hygons_document_lacks_commas_and_has_empty_keys() -> None:
    device = amd.from_rocm_smi("w", "WARNING: something first\n" + HYGON)[0]
    assert (device.kind, device.chip, device.serial, device.power_w) == ("dcu", "K100_AI", "T1", 77)
    assert (device.memory_total_bytes, device.memory_used_bytes, device.utilization) == (65520 * MIB, 2 * MIB, 0.5)
    older = amd.from_rocm_smi("w", HYGON.replace("HCU", "DCU"))[0]
    assert (older.kind, older.utilization) == ("dcu", 0.5)


def test_cambricon() -> None:
    device = others.from_cnmon("w", CNMON)[0]
    assert (device.kind, device.index, device.chip) == ("mlu", 1, "MLU370-X8")
    assert (device.memory_total_bytes, device.memory_used_bytes) == (42396 * MIB, 2048 * MIB)
    assert (device.utilization, device.temperature_c, device.power_w) == (35, 44, 63)


def test_metax() -> None:
    device = others.from_mx_smi("w", MX_SMI)[0]
    assert (device.kind, device.index, device.chip) == ("maca", 1, "C500")
    assert (device.memory_total_bytes, device.memory_used_bytes) == (65536 * MIB, 858 * MIB)
    assert (device.utilization, device.temperature_c, device.power_w) == (12, 40, 88)


def test_moore_threads_has_a_key_that_ends_in_a_blank() -> None:
    gpu = {
        "Index": "3",
        "Product Name": "MTT S4000",
        "GPU UUID": "u",
        "FB Memory Usage": {"Total": "49152MiB", "Used": "N/A"},
        "Utilization": {"Gpu": "7%"},
        "Temperature": {"GPU Current Temp": "34C"},
        "Power Readings": {"Power Draw ": "36.49W"},
    }
    device = others.from_mthreads_gmi("w", json.dumps({"Driver Version": "3.3", "GPU": [gpu]}))[0]
    assert (device.kind, device.index, device.chip) == ("musa", 3, "MTT S4000")
    assert (device.memory_total_bytes, device.memory_used_bytes) == (48 * GIB, None)
    assert (device.utilization, device.temperature_c, device.power_w) == (7, 34, 36.49)


def test_iluvatar_writes_units_into_cells() -> None:
    device = others.from_ixsmi("w", "1, Iluvatar BI-V150, 32768 MiB, 116 MiB, 3 %, 32 C\n")[0]
    assert (device.kind, device.index, device.chip) == ("corex", 1, "BI-V150")
    assert (device.memory_total_bytes, device.memory_used_bytes) == (32 * GIB, 116 * MIB)
    assert (device.utilization, device.temperature_c) == (3, 32)


def test_an_apple_shares_the_machines_memory() -> None:
    told = {"SPDisplaysDataType": [{"sppci_model": "Apple M4", "spdisplays_vendor": "sppci_vendor_Apple"}]}
    device = others.from_system_profiler("w", json.dumps(told))[0]
    assert (device.kind, device.chip, device.unified_memory, device.memory_total_bytes) == (
        "metal",
        "Apple M4",
        True,
        None,
    )
