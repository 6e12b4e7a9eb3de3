"""Each check refuses with its code and its numbers; the first that fails speaks."""

from dataclasses import replace

import pytest

from gpustack_lite.chips import GIB
from gpustack_lite.domain import Claim, Params, PlacementWish, Reason, Sentence, Unplaceable
from gpustack_lite.messages import CATALOGUE, text
from scheduler import About, Node, place
from scheduler.checks import OF_DEVICES, OF_MACHINES, OF_WORKERS, ORDER
from tests.unit.scheduler.factories import SPREAD, cards, claim, cpu_claim, device, node

QWEN = About("qwen", "hf:Qwen/Qwen3-14B", head_count=40)
FILE_MISSING = Reason("w1", "file", "source_missing", {"path": "/models/a"})


def only_reason(
    seen: Node, asked: Claim, wish: PlacementWish = SPREAD, backend: str | None = None, about: About = QWEN
) -> Reason:
    match place([seen], [asked], wish, backend=backend, about=about):
        case Unplaceable(reasons=(reason,)):
            return reason
        case answer:
            raise AssertionError(answer)


@pytest.mark.parametrize(
    ("seen", "asked", "wish", "check", "code", "numbers"),
    [
        pytest.param(cards("w1", 0, alive=False), claim(1), SPREAD, "alive", "worker_silent", {}, id="silent"),
        pytest.param(
            cards("w1", 0, labels={"zone": "b"}),
            claim(1),
            PlacementWish(worker_labels={"zone": "a", "rack": "7"}),
            "labels",
            "labels_differ",
            {"labels": "rack=7, zone=a"},
            id="labels",
        ),
        pytest.param(
            cards("w1", 0),
            claim(1),
            PlacementWish(devices=("w1:7",)),
            "chosen",
            "chosen_device_unknown",
            {"device": "w1:7"},
            id="a chosen device that is not there",
        ),
        pytest.param(
            cards("w1", 0, 0),
            claim(1),
            PlacementWish(devices=("w1:0", "w1:1")),
            "chosen",
            "chosen_count_differs",
            {"chosen_count": 2, "counts": "1"},
            id="too many chosen",
        ),
        pytest.param(
            cards("w1", 0, 0, 0),
            claim(1, count=4),
            PlacementWish(devices=("w1:0", "w1:1", "w1:2")),
            "chosen",
            "heads_do_not_divide",
            {"chosen_count": 3, "head_count": 40, "counts": "4"},
            id="heads that cannot be shared out over the chosen",
        ),
        pytest.param(cards("w1", 0, drained=True), claim(1), SPREAD, "drained", "drained", {}, id="drained"),
        pytest.param(
            cards("w1", 0, models={"qwen": 1}),
            claim(1),
            PlacementWish(apart=True),
            "apart",
            "replica_is_here",
            {"model": "qwen"},
            id="a replica beside another",
        ),
        pytest.param(
            cards("w1", 0, reading_age_seconds=600.0),
            claim(1),
            SPREAD,
            "fresh",
            "reading_stale",
            {"age_seconds": 600, "limit_seconds": 90},
            id="a reading that is too old to be trusted",
        ),
        pytest.param(
            cards("w1", 0, chip="910B4"),
            replace(claim(1, kind="ascend"), chips=frozenset({"910B3"})),
            SPREAD,
            "chip",
            "chip_missing",
            {"chips": "910B3", "there": "910B4"},
            id="another chip",
        ),
        pytest.param(
            cards("w1", 58, 58, total_gib=64),
            claim(20),
            SPREAD,
            "memory",
            "foreign_memory",
            {"needed_bytes": 20 * GIB, "foreign_bytes": 58 * GIB, "free_bytes": 6 * GIB},
            id="what others use is the cause",
        ),
        pytest.param(
            node("w1", device(0, "GB10", 120, None, unified_memory=True), ram_gib=120),
            claim(100, ram_gib=30),
            SPREAD,
            "unified",
            "not_enough_unified_memory",
            {"needed_bytes": 130 * GIB, "free_bytes": 120 * GIB},
            id="one pool for both",
        ),
        pytest.param(
            cards("w1", 0, disk_free_bytes=20 * GIB, bringing={"other": 5 * GIB}),
            replace(claim(1), disk_bytes=16 * GIB),
            SPREAD,
            "disk",
            "not_enough_disk",
            {"needed_bytes": 16 * GIB, "free_bytes": 15 * GIB},
            id="the disk",
        ),
        pytest.param(
            cards("w1", 0), replace(claim(1), disk_bytes=1), SPREAD, "disk", "disk_unknown", {}, id="unknown disk"
        ),
        pytest.param(
            cards("w1", 0), claim(1, kind="ascend"), SPREAD, "kind", "kind_missing", {"kinds": "ascend"}, id="kind"
        ),
        pytest.param(node("w1"), claim(1), SPREAD, "kind", "kind_missing", {"kinds": "cuda"}, id="no device at all"),
        pytest.param(
            node("w1", device(0, "H100"), device(1, "A100")),
            claim(1, count=2),
            SPREAD,
            "count",
            "too_few_devices",
            {"needed_count": 2, "device_count": 1},
            id="two devices but of two chips",
        ),
        pytest.param(
            node("w1", device(0), device(1, health="critical"), device(2, schedulable=False)),
            claim(1, count=2),
            SPREAD,
            "health",
            "devices_not_usable",
            {"needed_count": 2, "usable_count": 1},
            id="ill and cordoned devices",
        ),
        pytest.param(
            node("w1", device(0), device(1, total_gib=None)),
            claim(1, count=2),
            SPREAD,
            "reading",
            "device_memory_unknown",
            {"needed_count": 2, "known_count": 1},
            id="unknown memory is not zero, and not enough either",
        ),
        pytest.param(
            cards("w1", 0, 0, 0, claimed={0: 2 * GIB, 1: 9 * GIB, 2: 20 * GIB}),
            claim(16, count=2),
            SPREAD,
            "memory",
            "not_enough_device_memory",
            {"needed_count": 2, "needed_bytes": 16 * GIB, "free_bytes": 15 * GIB},
            id="the second freest device decides for two",
        ),
        pytest.param(
            cards("w1", 0, 0, total_gib=64, chip="910B3", claimed={1: GIB}),
            claim(16, count=2, kind="ascend"),
            SPREAD,
            "whole_chip",
            "chips_taken",
            {"needed_count": 2, "untaken_count": 1},
            id="an Ascend chip is not shared",
        ),
        pytest.param(
            cards("w1", 0, exclusive=frozenset({0})),
            claim(1),
            SPREAD,
            "whole_chip",
            "chips_taken",
            {"needed_count": 1, "untaken_count": 0},
            id="a device somebody holds alone",
        ),
        pytest.param(
            node("w1", ram_gib=8, ram_claimed_bytes=3 * GIB),
            cpu_claim(6),
            SPREAD,
            "ram",
            "not_enough_ram",
            {"needed_bytes": 6 * GIB, "free_bytes": 5 * GIB},
            id="RAM for the CPU",
        ),
        pytest.param(
            cards("w1", 0, ram_gib=8),
            claim(1, ram_gib=9),
            SPREAD,
            "ram",
            "not_enough_ram",
            {},
            id="RAM beside a device",
        ),
        pytest.param(node("w1", ram_gib=None), cpu_claim(6), SPREAD, "ram", "ram_unknown", {}, id="unknown RAM"),
    ],
)
def test_a_check_refuses_with_its_numbers(
    seen: Node, asked: Claim, wish: PlacementWish, check: str, code: str, numbers: Params
) -> None:
    reason = only_reason(seen, asked, wish)
    assert (reason.worker, reason.check, reason.code) == ("w1", check, code)
    assert {key: reason.params[key] for key in numbers} == numbers


def test_what_the_caller_knows_of_a_worker_is_told() -> None:
    assert only_reason(cards("w1", 0, refusal=FILE_MISSING), claim(1)) is FILE_MISSING


def test_a_refusal_names_what_the_bytes_are_made_of() -> None:
    """Case: 14B in bf16 on one 32 GiB card."""
    asked = claim(30, kind="ascend")
    about = About(numbers={asked: {"terms": "27.5 + 0.6 + 1.8 GiB", "usable_bytes": 28.8 * GIB}})
    reason = only_reason(cards("w1", 2, total_gib=30, chip="910B4"), asked, about=about)
    assert (reason.code, reason.params["foreign_bytes"]) == ("foreign_memory", 2 * GIB)
    reason = only_reason(cards("w1", 0, total_gib=29, chip="910B4"), asked, about=about)
    said = text(Sentence(reason.code, reason.params))
    assert said == (
        "A replica needs 27.5 + 0.6 + 1.8 GiB on each of 1 x 910B4; of 28.8 GiB usable, w1 has 29 GiB free."
    )


def test_a_backend_that_the_worker_cannot_run_is_refused() -> None:
    seen = cards("w1", 0, backends=frozenset({"llama_cpp"}))
    assert only_reason(seen, claim(1), backend="mindie").code == "backend_missing"


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        pytest.param(PlacementWish(devices=("w1:0", "w2:0")), "chosen_on_several_workers", id="two workers"),
        pytest.param(PlacementWish(devices=("w9:0",)), "chosen_worker_unknown", id="no such worker"),
        pytest.param(PlacementWish(devices=("nonsense",)), "chosen_worker_unknown", id="no address"),
        pytest.param(PlacementWish(devices=("w1:x",)), "chosen_device_unknown", id="no index"),
        pytest.param(PlacementWish(devices=("w1:" + "9" * 5000,)), "chosen_device_unknown", id="an endless index"),
        pytest.param(PlacementWish(devices=("w1:²",)), "chosen_device_unknown", id="a digit that is no number"),
    ],
)
def test_hand_picked_devices_that_cannot_be_are_refused(wish: PlacementWish, code: str) -> None:
    assert only_reason(cards("w1", 0), claim(1), wish).code == code


def test_a_chosen_device_that_is_none_is_named_as_it_was_written() -> None:
    reason = only_reason(cards("w1", 0), claim(1), PlacementWish(devices=("w1:x",)))
    assert reason.params["device"] == "w1:x"


def test_bytes_of_the_memory_check_are_told_beside_the_reason() -> None:
    reason = only_reason(cards("w1", 10), claim(16))
    assert (reason.needed_bytes, reason.free_bytes) == (16 * GIB, 14 * GIB)


def test_a_silent_worker_is_told_before_its_lack_of_memory() -> None:
    assert only_reason(cards("w1", 24, alive=False), claim(16)).check == "alive"


@pytest.mark.parametrize("health", ["ok", "warning", "unknown"])
def test_such_health_is_usable(health: str) -> None:
    assert not isinstance(place([node("w1", device(0, health=health))], [claim(1)], SPREAD), Unplaceable)


def test_each_check_has_its_place_in_the_order() -> None:
    assert len(ORDER) == len(OF_WORKERS) + len(OF_DEVICES) + len(OF_MACHINES) + len(["team"])


def test_reasons_read_well_in_both_languages() -> None:
    reason = only_reason(cards("w1", 0, claimed={0: 10 * GIB}), claim(16))
    said = Sentence(reason.code, reason.params)
    assert text(said) == "A replica needs 1 x 16 GiB of device memory; w1 has 14 GiB free per H100."
    assert text(said, "zh") == "一个副本需要 1 x 16 GiB 显存；w1 每个 H100 可用 14 GiB。"
    assert reason.code in CATALOGUE
