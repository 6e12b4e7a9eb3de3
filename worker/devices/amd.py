"""From the answers of amd-smi, rocm-smi and Hygon's hy-smi to devices.

Sources: a recorded rocm-smi 6.2.4 of gpustack's tests; amd-smi documents in the tests of several public projects (a
list up to 6.3, later {"gpu_data": [...]}); Hygon's two spellings (DCU, from dtk 25.04 HCU) recorded by gpustack, and
outputs of hyhal that lack commas.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpustack_lite.domain import Device
from worker.devices.text import document, filled, first, listed, mapping, mib, natural, number, size

_CARD = re.compile(r"^card(\d{1,4})$")
_LOST_COMMA = re.compile(r'(?<=[^\s:,{\[])""(?=[A-Za-z])')


def from_amd_smi(worker: str, static: str, metric: str, enumeration: str = "") -> tuple[Device, ...]:
    """`enumeration` is `list -e`: HIP, which engines go by, may count otherwise than amd-smi."""
    readings = {natural(each.get("gpu")): each for each in _gpus(metric)}
    hip = {natural(each.get("gpu")): natural(each.get("hip_id")) for each in _gpus(enumeration)}
    rows = {natural(each.get("gpu")): each for each in _gpus(static)} or readings
    made = [
        _by_amd_smi(worker, gpu, row, readings.get(gpu, {}), hip.get(gpu))
        for gpu, row in rows.items()
        if gpu is not None
    ]
    return tuple(sorted(made, key=lambda device: device.index))


def _gpus(text: str) -> list[Mapping[str, Any]]:
    found = document(text)
    return listed(found if isinstance(found, list) else mapping(found).get("gpu_data"))


def _by_amd_smi(worker: str, gpu: int, row: Mapping[str, Any], reading: Mapping[str, Any], hip: int | None) -> Device:
    asic, board, memory = mapping(row.get("asic")), mapping(row.get("board")), mapping(reading.get("mem_usage"))
    total = size(memory.get("total_vram")) or size(mapping(row.get("vram")).get("size"))
    temperature, power = mapping(reading.get("temperature")), mapping(reading.get("power"))
    return Device(
        worker=worker,
        index=gpu,
        kind="rocm",
        chip=_name(filled(asic.get("market_name")), filled(board.get("product_name"))),
        memory_total_bytes=total or None,
        memory_used_bytes=size(memory.get("used_vram")),
        physical_id=gpu,
        serial=filled(asic.get("asic_serial")) or filled(board.get("product_serial")),
        health="ok" if total else "unknown",
        utilization=_value(mapping(reading.get("usage")).get("gfx_activity")),
        temperature_c=_value(temperature.get("hotspot"), temperature.get("edge")),
        power_w=_value(power.get("socket_power"), power.get("current_socket_power")),
        visible_as=None if hip is None or hip == gpu else str(hip),
    )


def _value(*cells: Any) -> float | None:
    """A number, or {"value": 94, "unit": "%"}; the first that says something."""
    found = (number(cell.get("value") if isinstance(cell, Mapping) else cell) for cell in cells)
    return next((each for each in found if each is not None), None)


def _name(*names: str | None) -> str:
    """ "Navi 32 [Radeon RX 7800 XT]" and "AMD Instinct MI300X" without what all have."""
    name = first(names) or "GPU"
    bracketed = re.search(r"\[([^\]]{2,64})\]", name)
    return re.sub(r"^AMD (Instinct )?(?=\S)", "", bracketed[1] if bracketed else name)[:64]


def from_rocm_smi(worker: str, text: str) -> tuple[Device, ...]:
    """Also hy-smi's, which is made of it: its cards tell DCU or HCU."""
    found = mapping(document(_LOST_COMMA.sub('","', text)))
    cards = [(int(match[1]), mapping(card)) for name, card in found.items() if (match := _CARD.match(name))]
    return tuple(_by_rocm_smi(worker, index, _lower(card)) for index, card in sorted(cards, key=lambda pair: pair[0]))


def _lower(card: Mapping[str, Any]) -> dict[str, Any]:
    return {name.strip().lower(): value for name, value in card.items()}


def _by_rocm_smi(worker: str, index: int, card: Mapping[str, Any]) -> Device:
    is_hygon = any(name.startswith(("dcu ", "hcu ")) for name in card)
    total = _memory(card, "vram total memory")
    return Device(
        worker=worker,
        index=index,
        kind="dcu" if is_hygon else "rocm",
        chip=_name(filled(card.get("device name")), filled(card.get("card series"))),
        memory_total_bytes=total or None,
        memory_used_bytes=_memory(card, "vram total used memory"),
        physical_id=index,
        serial=first((filled(card.get("serial number")), filled(card.get("unique id")))),
        health="ok" if total else "unknown",
        utilization=_any_number(card, ("gpu use (%)", "dcu use (%)", "hcu use (%)")),
        temperature_c=_any_number(card, ("temperature (sensor junction) (c)", "temperature (sensor edge) (c)")),
        power_w=_any_number(card, ("average graphics package power (w)", "current socket graphics package power (w)")),
    )


def _memory(card: Mapping[str, Any], name: str) -> int | None:
    in_bytes = natural(card.get(f"{name} (b)"))
    return mib(card.get(f"{name} (mib)")) if in_bytes is None else in_bytes


def _any_number(card: Mapping[str, Any], names: Iterable[str]) -> float | None:
    return next((value for name in names if (value := number(card.get(name))) is not None), None)
