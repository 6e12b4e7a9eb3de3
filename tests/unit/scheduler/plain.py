"""Clusters, questions and answers as an operator would write them; test_scenarios.py is the table.

A worker is a line: its name, its devices as a SPEC, and facts by words.

    w1 8x910B3-64G ram 512G disk 100G used 0=58 held 1=14 shared 2=10 runs qwen has hf:q engine vllm zone=a silent

Numbers are GiB; `used` is by others, `held` and `shared` by instances of ours, `runs` counts a replica of a model.
A question is `COUNT x GIB`, with `ram`, `disk`, `workers`, `chips` and `may-share` after it; `or` separates claims in
order of preference. A wish is the words of `placement`. The answer is where, by address, or why not, by code.
"""

from dataclasses import replace
from itertools import pairwise

from gpustack_lite.chips import GIB, declared_devices, parse_spec
from gpustack_lite.domain import Claim, Device, DeviceKind, Placement, PlacementWish
from scheduler import About, Node, occupied, place

ACCELERATORS: frozenset[DeviceKind] = frozenset({"ascend", "cuda", "rocm"})
QWEN = About("qwen", "hf:q", head_count=64)
ALONE = frozenset({"silent", "drained"})


def gib(word: str) -> int:
    return int(float(word.removesuffix("G")) * GIB)


def words_after(words: list[str], key: str) -> list[str]:
    """The pairs or names after a word, up to the next word that is a fact's name."""
    return [word for after, word in pairwise(words) if after == key]


def by_index(words: list[str], key: str) -> dict[int, int]:
    """`used 0=58,1=58`"""
    pairs = [pair.split("=") for word in words_after(words, key) for pair in word.split(",")]
    return {int(index): gib(size) for index, size in pairs}


def worker(line: str) -> Node:
    name, spec, *words = line.split()
    used = by_index(words, "used")
    node = Node(
        name,
        alive="silent" not in words,
        drained="drained" in words,
        labels=dict(word.split("=") for word in words_after(words, "label")),
        devices=tuple(described(each, words, used) for each in devices_of(name, spec)),
        ram_total_bytes=gib(next(iter(words_after(words, "ram")), "1024G")),
        disk_free_bytes=next((gib(word) for word in words_after(words, "disk")), None),
        reading_age_seconds=next((float(word) for word in words_after(words, "read")), None),
        backends=frozenset(words_after(words, "engine")),
        engines=frozenset(words_after(words, "engine")),
        sources=frozenset(words_after(words, "has")),
        models={model: 1 for model in words_after(words, "runs")},
    )
    for key in ("held", "shared"):
        for index, size in by_index(words, key).items():
            node = occupied(node, [((index,), Claim(1, size, may_share=key == "shared"))])
    return node


def devices_of(name: str, spec: str) -> tuple[Device, ...]:
    return () if spec == "-" else declared_devices(name, parse_spec(spec))


def described(device: Device, words: list[str], used: dict[int, int]) -> Device:
    index = str(device.index)
    return replace(
        device,
        memory_used_bytes=None if index in named(words, "mute") else used.get(device.index, 0),
        health="critical" if index in named(words, "ill") else "ok",
        schedulable=index not in named(words, "cordoned"),
    )


def named(words: list[str], key: str) -> set[str]:
    return {index for word in words_after(words, key) for index in word.split(",")}


def claims(question: str) -> list[Claim]:
    return [claim(each.split()) for each in question.split(" or ")]


def claim(words: list[str]) -> Claim:
    count = int(words[0]) if words[1:2] == ["x"] else 0
    return Claim(
        device_count=count,
        bytes_per_device=gib(words[2]) if count else 0,
        ram_bytes=sum(map(gib, words_after(words, "ram"))),
        device_kinds=ACCELERATORS if count else frozenset({"cpu"}),
        worker_count=int(next(iter(words_after(words, "workers")), "1")),
        chips=frozenset(words_after(words, "chips")),
        disk_bytes=sum(map(gib, words_after(words, "disk"))),
        may_share="may-share" in words,
    )


def wish(text: str) -> PlacementWish:
    words = text.split()
    return PlacementWish(
        strategy="binpack" if "binpack" in words else "spread",
        worker_labels=dict(word.split("=") for word in words_after(words, "label")),
        devices=tuple(words_after(words, "device")),
        workers=tuple(words_after(words, "worker")),
        chips=tuple(words_after(words, "chip")),
        apart="apart" in words,
        share_chips="share-chips" in words,
    )


def answer(cluster: list[str], question: str, wished: str = "", engine: str | None = None) -> str:
    found = place([worker(line) for line in cluster], claims(question), wish(wished), backend=engine, about=QWEN)
    if isinstance(found, Placement):
        return " ".join(found.addresses) or " ".join(part.worker for part in found.parts)
    return f"no: {found.reasons[0].code}"
