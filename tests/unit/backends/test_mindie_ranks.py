"""Rank tables as HCCL and MindIE read them."""

import json

import pytest

from backends.mindie import MINDIE
from backends.mindie_ranks import Node, RankedDevice, RankedServer, rank_table, version_for
from gpustack_lite.domain import BackendVersion
from gpustack_lite.errors import Refusal
from tests.unit.backends.models import devices, placed

DAEMON = "/usr/local/Ascend/mindie/latest/mindie-service/bin/mindieservice_daemon"
VERSION = BackendVersion("mindie", "2.1", frozenset({"ascend"}), "path", installed=True, executable=DAEMON)


def server(number: int, *devices: RankedDevice) -> RankedServer:
    return RankedServer(f"192.0.2.{number}", devices or (RankedDevice(0, f"198.51.100.{number}"),))


def test_ranks_count_through_the_servers_and_values_are_text() -> None:
    two = [
        server(11, RankedDevice(0, "198.51.100.10"), RankedDevice(1, "198.51.100.11")),
        server(12, RankedDevice(0, "198.51.100.20"), RankedDevice(1, "198.51.100.21")),
    ]
    assert json.loads(rank_table(two, "1.0")) == {
        "version": "1.0",
        "server_count": "2",
        "server_list": [
            {
                "server_id": "192.0.2.11",
                "container_ip": "192.0.2.11",
                "device": [
                    {"device_id": "0", "device_ip": "198.51.100.10", "rank_id": "0"},
                    {"device_id": "1", "device_ip": "198.51.100.11", "rank_id": "1"},
                ],
            },
            {
                "server_id": "192.0.2.12",
                "container_ip": "192.0.2.12",
                "device": [
                    {"device_id": "0", "device_ip": "198.51.100.20", "rank_id": "2"},
                    {"device_id": "1", "device_ip": "198.51.100.21", "rank_id": "3"},
                ],
            },
        ],
        "status": "completed",
    }


def test_dies_of_a3_have_a_super_device_id_and_servers_belong_to_a_pod() -> None:
    two = [server(11, RankedDevice(1, "198.51.100.11", 65537)), server(12, RankedDevice(0, "198.51.100.20", 2097152))]
    made = json.loads(rank_table(two, "1.2"))
    assert made["server_list"][0]["device"][0]["super_device_id"] == "65537"
    assert made["server_list"][0]["host_ip"] == "192.0.2.11"
    assert made["super_pod_list"] == [
        {"super_pod_id": "0", "server_list": [{"server_id": "192.0.2.11"}, {"server_id": "192.0.2.12"}]}
    ]


@pytest.mark.parametrize(
    ("servers", "key"),
    [
        pytest.param([server(1)], "server_count", id="one alone"),
        pytest.param([server(each) for each in range(1, 62)], "server_count", id="too many"),
        pytest.param(
            [server(1), server(2, *(RankedDevice(n, "198.51.100.1") for n in (0, 1)))], "device", id="unequal"
        ),
        pytest.param([server(1), server(2, RankedDevice(64, "198.51.100.1"))], "device_id", id="no such device"),
        pytest.param([server(1), server(2, RankedDevice(0, ""))], "device_ip", id="a card without an address"),
        pytest.param(
            [server(1), RankedServer("worker-2", (RankedDevice(0, "198.51.100.1"),))], "server_id", id="a name"
        ),
    ],
)
def test_what_would_be_refused_names_its_key(servers: list[RankedServer], key: str) -> None:
    with pytest.raises(Refusal) as caught:
        rank_table(servers, "1.0")
    assert (caught.value.code, caught.value.params["key"]) == ("rank_table_invalid", key)


@pytest.mark.parametrize(
    ("chip", "version"), [("910B3", "1.0"), ("Ascend910", "1.2"), ("910_9382", "1.2"), ("910A", "1.0")]
)
def test_the_version_of_a_chip(chip: str, version: str) -> None:
    assert version_for(chip) == version


def test_each_worker_of_an_instance_gets_the_same_table_and_its_own_address() -> None:
    servers = tuple(
        server(number, *(RankedDevice(each, f"198.51.100.{number}{each}") for each in range(8))) for number in (11, 12)
    )
    on_both = [
        MINDIE.launch(placed("Qwen3-32B", VERSION, devices("8x910B3-64G"), 8192), Node(servers, at, "1.0"))
        for at in (0, 1)
    ]
    assert on_both[0].files["rank_table.json"] == on_both[1].files["rank_table.json"]
    configs = [json.loads(each.files["config.json"]) for each in on_both]
    assert [each["ServerConfig"]["ipAddress"] for each in configs] == ["192.0.2.11", "192.0.2.12"]
    for spec, config in zip(on_both, configs, strict=True):
        (model,) = config["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]
        assert (model["worldSize"], model["tp"], config["BackendConfig"]["multiNodesInferEnabled"]) == (16, 16, True)
        assert spec.env["RANK_TABLE_FILE"] == spec.env["RANKTABLEFILE"] == "/data/7/rank_table.json"
        assert "RANK_TABLE_FILE" in spec.argv[4].split()
