"""llama.cpp on a device: all layers where they fit, else some of them, else none."""

from dataclasses import replace

import pytest

from backends.base import Estimate, Placed, Want
from backends.llama_cpp import LLAMA_CPP
from backends.llama_cpp_offload import split
from gpustack_lite.domain import BackendVersion, Device, DeviceKind, ModelFacts, Placement, PlacementWish
from gpustack_lite.planning.evaluation import Surroundings, document, evaluate
from gpustack_lite.planning.subject import Subject
from scheduler import granted, place
from tests.unit.scheduler.plain import worker

GIB = 1024**3
LAYER, TABLE = 200 * 1024**2, 600 * 1024**2
FACTS = ModelFacts(
    "gguf",
    "/models/m.gguf",
    8 * GIB,
    layer_count=36,
    embedding_length=4096,
    feed_forward_length=12288,
    head_count=32,
    kv_head_counts=(8,) * 36,
    key_length=128,
    value_length=128,
    vocab_size=151936,
    trained_context_length=8192,
    weights_bytes=36 * LAYER + 2 * TABLE,
    layer_bytes=(LAYER,) * 36,
    output_bytes=TABLE,
)
OPTIONS = {"parallel": 1, "max-model-len": 8192}


def card(gib: int, kind: DeviceKind = "cuda") -> Device:
    return Device("w1", 0, kind, "A10", gib * GIB, memory_used_bytes=0)


def estimates(gib: int, *, kinds: frozenset[DeviceKind] = frozenset({"cpu", "cuda"}), **more: object) -> list[Estimate]:
    return list(LLAMA_CPP.estimates(FACTS, Want(OPTIONS | more, (card(gib),), build_kinds=kinds)))


def layers(found: list[Estimate]) -> list[int | None]:
    return [each.device_layers for each in found]


def test_what_fits_lies_on_the_device_whole_and_in_parts_only_after_that() -> None:
    found = estimates(24)
    assert layers(found) == [37, 36, 27, 18, 9, None]
    assert found[0].claim.device_count == 1
    assert found[0].claim.bytes_per_device > 36 * LAYER + TABLE


def test_of_one_too_large_so_many_layers_as_fit_are_the_first_choice() -> None:
    first, *rest = estimates(8)
    assert first.device_layers is not None
    assert 1 < first.device_layers < 37
    assert first.claim.bytes_per_device <= 8 * GIB * 0.97 < first.claim.bytes_per_device + LAYER + 40 * 1024**2
    assert first.claim.ram_bytes > (37 - first.device_layers) * LAYER
    assert rest[-1].device_layers is None


def test_a_cpu_is_no_device_to_put_layers_on() -> None:
    want = Want(OPTIONS, (card(64, "cpu"),), build_kinds=frozenset({"cpu"}))
    assert {each.device_layers for each in LLAMA_CPP.estimates(FACTS, want)} == {None}


def test_without_a_build_for_the_device_everything_stays_in_ram() -> None:
    assert layers(estimates(24, kinds=frozenset({"cpu"}))) == [None]


@pytest.mark.parametrize(("asked", "expected"), [("0", [None]), ("10", [10, None]), ("99", [37, None])])
def test_the_users_number_stands(asked: str, expected: list[int | None]) -> None:
    found = layers(estimates(24, **{"n-gpu-layers": asked}))
    assert [each for each in dict.fromkeys(found) if each in expected] == expected
    assert set(found) <= {*expected, 36, 27, 18, 9} if asked == "99" else found == expected


def test_every_byte_is_on_one_side() -> None:
    memory = estimates(24)[-1].memory
    assert memory is not None
    parts = [split(FACTS, memory, count, "cuda") for count in (1, 10, 37)]
    spread = [each.weights + each.cache + each.ram_bytes for each in parts]
    assert spread == [memory.total_bytes] * 3
    assert parts[-1].cache == memory.kv_bytes


def test_the_output_of_a_tied_model_is_a_second_copy() -> None:
    tied = replace(FACTS, is_tied=True, weights_bytes=36 * LAYER + TABLE)
    memory = LLAMA_CPP.estimates(tied, Want(OPTIONS))[0].memory
    assert memory is not None
    whole = split(tied, memory, 37, "cuda")
    assert whole.weights + whole.cache + whole.ram_bytes == memory.total_bytes + TABLE


def test_the_launch_line_says_how_many_and_shows_the_device() -> None:
    found = estimates(8)[0]
    build = BackendVersion("llama_cpp", "path-9", frozenset({"cpu", "cuda"}), "path", True, "/usr/bin/llama-server")
    spec = LLAMA_CPP.launch(
        Placed(
            instance_id=1,
            model_name="m",
            source_path="/models/m.gguf",
            facts=FACTS,
            options=OPTIONS,
            env={},
            devices=(replace(card(8), index=2),),
            port=21000,
            workdir="/w",
            engine_key="k",
            context_length=found.context_length,
            cpu_count=8,
            version=build,
            runner_dir="/r",
            claim=found.claim,
            device_layers=found.device_layers,
        )
    )
    line = " ".join(spec.argv)
    assert f"--n-gpu-layers {found.device_layers} --split-mode none --fit off" in line
    assert "--device none" not in line
    assert spec.env["CUDA_VISIBLE_DEVICES"] == "2"


def test_in_plain_words_a_busy_card_takes_the_layers_that_it_has_room_for() -> None:
    claims = [each.claim for each in estimates(24)]
    for line, expected in [
        ("w1 1xA10-24G ram 64G used 0=0", 37),
        ("w1 1xA10-24G ram 64G used 0=18", 18),
        ("w1 1xA10-24G ram 64G used 0=23", None),
    ]:
        answer = place((worker(line),), claims, PlacementWish())
        assert isinstance(answer, Placement), line
        chosen = next(each for each in estimates(24) if granted(each.claim, PlacementWish()) == answer.claim)
        assert chosen.device_layers == expected, line


def test_evaluate_says_how_many_layers_lie_on_the_device() -> None:
    node = worker("w1 1xA10-24G ram 64G used 0=18 engine llama_cpp")
    kinds: frozenset[DeviceKind] = frozenset({"cpu", "cuda"})
    subject = Subject("/models/m.gguf", FACTS, LLAMA_CPP, "llama_cpp", OPTIONS, (card(24),), build_kinds=kinds)
    found = document(evaluate(subject, Surroundings((node,)), PlacementWish()))
    assert found["offload"]["code"] == "layers_on_device"
    assert (found["offload"]["params"]["layers"], found["offload"]["params"]["of_layers"]) == (18, 37)
