"""Rank tables: who has which rank in an instance that several workers share, as HCCL and MindIE read them.

Version 1.0 is for 910 and 910B, 1.2 for A3, whose dies have a super device id; values are strings. Sources: MindIE-LLM
src/config_manager/ranktable_config.cpp (2 to 60 servers, equally many devices on each and at most 32, device_id 0 to
63, rank 0 to 511), mind-cluster's rank table documentation.
"""

import json
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple

from gpustack_lite.errors import Refusal

Version = Literal["1.0", "1.2"]
MOST_SERVERS = 60
MOST_DEVICES = 32
MOST_DEVICE_ID = 63
MOST_RANK = 511


class RankedDevice(NamedTuple):
    """`ip` is the address of the card's own network port (`hccn_tool -i N -ip -g`)."""

    id: int
    ip: str
    super_device_id: int | None = None


class RankedServer(NamedTuple):
    """One worker. The first of a table is the master, whose service is the instance's."""

    address: str
    devices: tuple[RankedDevice, ...]
    super_pod_id: str = "0"


class Node(NamedTuple):
    """One worker's place in an instance that several carry."""

    servers: tuple[RankedServer, ...]
    place: int
    version: Version

    @property
    def address(self) -> str:
        return self.servers[self.place].address

    @property
    def world_size(self) -> int:
        return sum(len(each.devices) for each in self.servers)

    @property
    def table(self) -> str:
        return rank_table(self.servers, self.version)

    def env(self, table_path: str) -> dict[str, str]:
        """Both spellings of the table's variable are read, by different parts."""
        return {
            "WORLD_SIZE": str(self.world_size),
            "RANK_TABLE_FILE": table_path,
            "RANKTABLEFILE": table_path,
            "MIES_CONTAINER_IP": self.address,
            "HOST_IP": self.address,
            "ATB_LLM_HCCL_ENABLE": "1",
            "ATB_LLM_COMM_BACKEND": "hccl",
            "HCCL_CONNECT_TIMEOUT": "7200",
        }


def rank_table(servers: Sequence[RankedServer], version: Version) -> str:
    """The file's content; ranks count through the servers in their order.

    Raises:
        Refusal: `rank_table_invalid`.
    """
    _check(servers, version)
    table: dict[str, Any] = {
        "version": version,
        "server_count": str(len(servers)),
        "server_list": _server_list(servers, version),
        "status": "completed",
    }
    return json.dumps(table | ({"super_pod_list": _pods(servers)} if version == "1.2" else {}), indent=1)


def version_for(chip: str) -> Version:
    """A3 shows itself as Ascend910 or 910_93..; everything before it reads 1.0."""
    name = chip.upper().removeprefix("ASCEND").lstrip("-_ ")
    return "1.2" if name == "910" or name.startswith(("910_93", "910C", "A3")) else "1.0"


def _server_list(servers: Sequence[RankedServer], version: Version) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    rank = 0
    for server in servers:
        devices = [_device(each, rank + at, version) for at, each in enumerate(server.devices)]
        rank += len(devices)
        host = {"host_ip": server.address} if version == "1.2" else {}
        made.append({"server_id": server.address, **host, "container_ip": server.address, "device": devices})
    return made


def _device(device: RankedDevice, rank: int, version: Version) -> dict[str, str]:
    more = {"super_device_id": str(device.super_device_id)} if version == "1.2" else {}
    return {"device_id": str(device.id), "device_ip": device.ip, **more, "rank_id": str(rank)}


def _pods(servers: Sequence[RankedServer]) -> list[dict[str, Any]]:
    ids = dict.fromkeys(each.super_pod_id for each in servers)
    return [
        {
            "super_pod_id": id,
            "server_list": [{"server_id": each.address} for each in servers if each.super_pod_id == id],
        }
        for id in ids
    ]


def _check(servers: Sequence[RankedServer], version: Version) -> None:
    devices = [each for server in servers for each in server.devices]
    if not 2 <= len(servers) <= MOST_SERVERS:
        raise _invalid("server_count", len(servers), f"2 ... {MOST_SERVERS}")
    if len({len(each.devices) for each in servers}) > 1:
        raise _invalid("device", ", ".join(str(len(each.devices)) for each in servers), "as many on each server")
    if not 1 <= len(servers[0].devices) <= MOST_DEVICES:
        raise _invalid("device", len(servers[0].devices), f"1 ... {MOST_DEVICES}")
    if len(devices) > MOST_RANK + 1:
        raise _invalid("rank_id", len(devices) - 1, f"0 ... {MOST_RANK}")
    for server in servers:
        _check_address("server_id", server.address)
    for device in devices:
        _check_device(device, version)


def _check_device(device: RankedDevice, version: Version) -> None:
    if not 0 <= device.id <= MOST_DEVICE_ID:
        raise _invalid("device_id", device.id, f"0 ... {MOST_DEVICE_ID}")
    if version == "1.2" and device.super_device_id is None:
        raise _invalid("super_device_id", "-", "a number (A3)")
    _check_address("device_ip", device.ip)


def _check_address(key: str, text: str) -> None:
    try:
        ip_address(text)
    except ValueError as error:
        raise _invalid(key, text, "an IP address") from error


def _invalid(key: str, value: object, expected: str) -> Refusal:
    return Refusal("rank_table_invalid", key=key, value=str(value)[:100], expected=expected)
