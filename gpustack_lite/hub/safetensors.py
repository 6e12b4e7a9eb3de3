"""Headers of safetensors files: which tensors there are, of which type, and how many bytes each takes.

The format (safetensors, README "Format"): eight bytes of little-endian length, then a JSON object from tensor name to
dtype, shape and data_offsets, then the data. A header is bounded by the file and by 100 MiB, as the library bounds it.
"""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack_lite.errors import Refusal

LONGEST_HEADER_BYTES = 100 * 1024**2
LENGTH_BYTES = 8
ReadAt = Callable[[int, int], bytes]
"""(offset, count) -> the bytes there, fewer at the end of the file."""


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int

    @property
    def parameter_count(self) -> int:
        count = 1
        for length in self.shape:
            count *= length
        return count


def read_tensors(read_at: ReadAt, file_bytes: int, path: str) -> tuple[Tensor, ...]:
    """
    Raises:
        Refusal: `safetensors_invalid`, naming what is wrong.
    """
    prefix = read_at(0, LENGTH_BYTES)
    if len(prefix) < LENGTH_BYTES:
        raise _invalid(path, "it ends before its header")
    (length,) = struct.unpack("<Q", prefix)
    if length > min(LONGEST_HEADER_BYTES, file_bytes - LENGTH_BYTES):
        raise _invalid(path, "its header is longer than the file")
    try:
        content = json.loads(read_at(LENGTH_BYTES, length))
    except (ValueError, RecursionError) as error:
        raise _invalid(path, "its header is no JSON") from error
    if not isinstance(content, dict):
        raise _invalid(path, "its header is no object")
    data_bytes = file_bytes - LENGTH_BYTES - length
    return tuple(_tensor(name, each, data_bytes, path) for name, each in content.items() if name != "__metadata__")


def _tensor(name: str, content: Any, data_bytes: int, path: str) -> Tensor:
    if not isinstance(content, Mapping):
        raise _invalid(path, f"the tensor {name[:100]} is no object")
    offsets, shape = _sizes(content.get("data_offsets")), _sizes(content.get("shape"))
    if offsets is None or len(offsets) != 2 or shape is None:
        raise _invalid(path, f"the tensor {name[:100]} has no offsets or no shape")
    start, end = offsets
    if not start <= end <= data_bytes:
        raise _invalid(path, f"the tensor {name[:100]} lies outside of the file")
    return Tensor(name, str(content.get("dtype", "")), shape, end - start)


def _sizes(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not all(type(each) is int and 0 <= each < 2**63 for each in value):
        return None
    return tuple(value)


def _invalid(path: str, why: str) -> Refusal:
    return Refusal("safetensors_invalid", param="source", path=path, why=why)
