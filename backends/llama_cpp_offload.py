"""How llama.cpp splits a model between one device and RAM: so many of its last layers on the device, the rest here.

By llama-model.cpp (load_tensors): of `n-gpu-layers` N the first counted is the output, then the last N - 1 layers; the
table of the input stays in RAM. The cache of a layer lies where the layer does (offload_kqv). Compute buffers are
reckoned whole on both sides: a graph that is split has one in each. No GPU build was run against this.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from backends import llama_cpp_memory as arithmetic
from backends.base import Estimate
from backends.memory.fitting import Room, rooms_of
from backends.options import OptionValue
from gpustack_lite.domain import Claim, Device, DeviceKind, Memory, ModelFacts, Term

MIB = 1024**2
CONTEXT_BYTES: Mapping[str, int] = {"ascend": 1900 * MIB}
"""What a device's own runtime takes of it; 1.86 GiB were printed for CANN (docs/memory.md)."""
_CONTEXT_BYTES = 500 * MIB
RUNGS = 4
"""All layers, then as many as fit, then fewer by quarters: a device that others use takes what it has room for."""
LEAST_CONTEXT = 4096
DEVICE_RESERVE = 0.03


@dataclass(frozen=True, slots=True)
class Split:
    """The bytes of the terms on the device, and what stays in RAM."""

    layers: int
    """As `--n-gpu-layers` counts: the output is one of them."""
    of_layers: int
    weights: int
    cache: int
    activation: int
    runtime: int
    ram_bytes: int

    @property
    def device_bytes(self) -> int:
        return self.weights + self.cache + self.activation + self.runtime


def split(facts: ModelFacts, memory: Memory, layers: int, kind: DeviceKind) -> Split:
    count = len(facts.layer_bytes)
    moved = facts.layer_bytes[count + 1 - layers :] if layers > 1 else ()
    weights = sum(moved) + (facts.output_bytes or 0)
    cache = memory.kv_bytes if layers > count else _share(memory.kv_bytes, len(moved), count)
    stays = memory.weights_bytes - sum(moved) - (0 if facts.is_tied else facts.output_bytes or 0)
    whole = sum(each.size_bytes for each in memory.terms if each.code == "term_repacked")
    rest = memory.overhead_bytes - whole + _share(whole, count - len(moved), count) + memory.activation_bytes
    runtime = CONTEXT_BYTES.get(kind, _CONTEXT_BYTES)
    ram = stays + memory.kv_bytes - cache + rest
    return Split(layers, count + 1, weights, cache, memory.activation_bytes, runtime, ram)


def _share(size_bytes: int, layers: int, of_layers: int) -> int:
    """Rounded up: layers differ a little."""
    return -(-size_bytes * layers // max(of_layers, 1))


def estimates(
    facts: ModelFacts,
    values: Mapping[str, OptionValue],
    shapes: Sequence[arithmetic.Shape],
    devices: Sequence[Device],
    kinds: frozenset[DeviceKind],
) -> Iterator[Estimate]:
    """Whole on a device with the longest context first; as a last resort before RAM alone, a part of it."""
    rooms = rooms_of(devices, kinds)
    if not facts.layer_bytes or asked_layers(values) == 0:
        return
    for shape in shapes:
        yield from (found for room in rooms if (found := _whole(facts, values, shape, room)) is not None)
    part = _part_shape(shapes)
    for room in reversed(rooms):
        yield from _parts(facts, values, part, room)


def asked_layers(values: Mapping[str, OptionValue]) -> int | None:
    """None for all of them, which is also what `auto` comes to where we choose."""
    value = str(values.get("n-gpu-layers", "all"))
    return int(value) if value.isdecimal() else None


def _part_shape(shapes: Sequence[arithmetic.Shape]) -> arithmetic.Shape:
    """The shortest context that is still a useful one: what a split model is slow with, it need not be able to do."""
    useful = [each for each in shapes if each.context_length >= LEAST_CONTEXT]
    return useful[-1] if useful else shapes[0]


def _whole(
    facts: ModelFacts, values: Mapping[str, OptionValue], shape: arithmetic.Shape, room: Room
) -> Estimate | None:
    every = len(facts.layer_bytes) + 1
    asked = asked_layers(values)
    if asked is not None and asked < every:
        return None
    memory = arithmetic.memory(facts, values, shape)
    found = split(facts, memory, every, room.kind)
    return _estimate(found, memory, shape, room) if found.device_bytes <= _usable(room) else None


def _parts(
    facts: ModelFacts, values: Mapping[str, OptionValue], shape: arithmetic.Shape, room: Room
) -> Iterator[Estimate]:
    memory, every = arithmetic.memory(facts, values, shape), len(facts.layer_bytes) + 1
    asked = asked_layers(values)
    if asked is not None:
        yield from () if asked >= every else (_estimate(split(facts, memory, asked, room.kind), memory, shape, room),)
        return
    fitting = (n for n in range(every - 1, 1, -1) if split(facts, memory, n, room.kind).device_bytes <= _usable(room))
    most = next(fitting, 0)
    rungs = dict.fromkeys(most * rung // RUNGS for rung in range(RUNGS, 0, -1))
    yield from (_estimate(split(facts, memory, n, room.kind), memory, shape, room) for n in rungs if n > 1)


def _usable(room: Room) -> int:
    return int(room.total_bytes * (1 - DEVICE_RESERVE))


def _estimate(found: Split, memory: Memory, shape: arithmetic.Shape, room: Room) -> Estimate:
    """The terms are those of the device; the sums those of device and RAM together."""
    claim = Claim(
        1,
        found.device_bytes,
        found.ram_bytes,
        device_kinds=frozenset({room.kind}),
        chips=frozenset({room.chip}),
        may_share=True,
    )
    terms = (
        Term("term_weights", found.weights, {"layers": found.layers, "of_layers": found.of_layers}),
        Term("term_cache", found.cache, {"context_length": shape.context_length}),
        Term("term_activation", found.activation, {"batched_tokens": shape.ubatch}),
        Term("term_runtime", found.runtime),
    )
    total = found.device_bytes + found.ram_bytes
    named = memory.weights_bytes + memory.kv_bytes + memory.activation_bytes
    told = replace(memory, overhead_bytes=total - named, terms=terms)
    return Estimate(claim, told, shape.context_length, device_layers=found.layers)
