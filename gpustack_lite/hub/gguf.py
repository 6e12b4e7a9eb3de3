"""Reads the header of a GGUF file: metadata and tensor table, bounded by the file's size and by our own limits.

The format is ggml's docs/gguf.md; versions 2 and 3, little endian.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.gguf_types import TENSOR_TYPES

MAGIC = b"GGUF"
VERSIONS = frozenset({2, 3})
HEADER_LIMIT_BYTES = 64 * 1024**2
_MOST_ELEMENTS = 4_000_000
_MOST_DIMENSIONS = 4
_MOST_KEPT = 4096
_LONGEST_KEY_BYTES = 65_535
_BLOCK_BYTES = 256 * 1024
_LENGTH = struct.Struct("<Q")
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}

Scalar = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Array:
    """An array of the metadata. `values` is empty where there are more than 4096, or strings."""

    length: int
    values: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Tensor:
    """`byte_count` is None for a type that this reader does not know. `offset` counts from the data section."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    offset: int
    byte_count: int | None

    @property
    def element_count(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Header:
    version: int
    metadata: Mapping[str, Scalar | Array]
    tensors: tuple[Tensor, ...]
    data_offset: int
    file_bytes: int

    @property
    def needed_bytes(self) -> int:
        """How long the file must be for its tensors to be whole."""
        ends = [each.offset + each.byte_count for each in self.tensors if each.byte_count is not None]
        return self.data_offset + max(ends, default=0)

    @property
    def weights_bytes(self) -> int:
        sizes = [each.byte_count for each in self.tensors]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else max(self.file_bytes - self.data_offset, 0)


def read_header(path: Path) -> Header:
    """Raises:
    Refusal: `not_a_model`, `gguf_version`, `gguf_invalid` or `gguf_truncated`.
    OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        file_bytes = stream.seek(0, 2)
        stream.seek(0)
        return header_of(stream, str(path), file_bytes)


def header_of(stream: BinaryIO, path: str, file_bytes: int) -> Header:
    """As `read_header`, of a file that need not be one of this machine: `path` is how it is called."""
    header = _Reader(stream, path, file_bytes).header()
    if header.needed_bytes > file_bytes:
        raise Refusal("gguf_truncated", path=path, have_bytes=file_bytes, need_bytes=header.needed_bytes)
    return header


class _Reader:
    """Every length is compared with what the file still has before anything is read or made."""

    def __init__(self, stream: BinaryIO, path: str, file_bytes: int) -> None:
        self._stream = stream
        self._path = path
        self._file_bytes = file_bytes
        self._position = 0
        self._elements_left = _MOST_ELEMENTS

    def header(self) -> Header:
        if self._file_bytes < len(MAGIC) or self._bytes(len(MAGIC)) != MAGIC:
            raise Refusal("not_a_model", path=self._path)
        version = self._number("<I")
        if version not in VERSIONS:
            raise Refusal("gguf_version", path=self._path, version=version)
        tensor_count, pair_count = self._number("<Q"), self._number("<Q")
        self._must_hold(pair_count, least_bytes=13)
        metadata = dict(self._pair() for _ in range(pair_count))
        self._must_hold(tensor_count, least_bytes=24)
        tensors = tuple(self._tensor() for _ in range(tensor_count))
        alignment = self._alignment(metadata.get("general.alignment", 32))
        data_offset = -(-self._position // alignment) * alignment
        return Header(version, metadata, tensors, data_offset, self._file_bytes)

    def _pair(self) -> tuple[str, Scalar | Array]:
        key = self._text(_LONGEST_KEY_BYTES)
        kind = self._number("<I")
        return key, self._array() if kind == _ARRAY else self._scalar(kind)

    def _scalar(self, kind: int) -> Scalar:
        if kind == _STRING:
            return self._text(HEADER_LIMIT_BYTES)
        value: Scalar = struct.unpack(layout := self._layout(kind), self._bytes(struct.calcsize(layout)))[0]
        return value

    def _array(self) -> Array:
        kind, length = self._number("<I"), self._number("<Q")
        if kind == _STRING:
            self._must_hold(length, least_bytes=8)
            self._skip_texts(length)
            return Array(length)
        layout = self._layout(kind)
        self._must_hold(length, least_bytes=struct.calcsize(layout))
        if length > _MOST_KEPT:
            self._skip(length * struct.calcsize(layout))
            return Array(length)
        return Array(length, tuple(self._scalar(kind) for _ in range(length)))

    def _tensor(self) -> Tensor:
        name = self._text(_LONGEST_KEY_BYTES)
        dimension_count = self._number("<I")
        if dimension_count > _MOST_DIMENSIONS:
            raise self._invalid(f"tensor {name[:80]}, dimensions {dimension_count}")
        shape = tuple(self._number("<Q") for _ in range(dimension_count))
        type_id, offset = self._number("<I"), self._number("<Q")
        return Tensor(name, shape, type_id, offset, self._byte_count(name, shape, type_id))

    def _byte_count(self, name: str, shape: tuple[int, ...], type_id: int) -> int | None:
        known = TENSOR_TYPES.get(type_id)
        if known is None:
            return None
        if shape and shape[0] % known.block_elements:
            raise self._invalid(f"tensor {name[:80]}, shape {list(shape)}, type {known.name}")
        return prod(shape) // known.block_elements * known.block_bytes

    def _alignment(self, said: Scalar | Array) -> int:
        if isinstance(said, int) and 0 < said <= HEADER_LIMIT_BYTES:
            return said
        raise self._invalid(f"general.alignment {said}")

    def _layout(self, kind: int) -> str:
        if kind not in _SCALARS:
            raise self._invalid(f"value type {kind}")
        return _SCALARS[kind]

    def _must_hold(self, count: int, least_bytes: int) -> None:
        self._elements_left -= count
        if self._elements_left < 0:
            raise self._invalid(f"entry count {count}")
        self._must_have(count * least_bytes)

    def _text(self, longest_bytes: int) -> str:
        length = self._number("<Q")
        if length > longest_bytes:
            raise self._invalid(f"text length {length}")
        return self._bytes(length).decode("utf-8", errors="replace")

    def _number(self, layout: str) -> int:
        value: int = struct.unpack(layout, self._bytes(struct.calcsize(layout)))[0]
        return value

    def _bytes(self, count: int) -> bytes:
        self._must_have(count)
        self._position += count
        content = self._stream.read(count)
        if len(content) < count:
            raise self._truncated(self._position)  # somebody shortens the file while we read
        return content

    def _skip(self, count: int) -> None:
        self._must_have(count)
        self._position += count
        self._stream.seek(self._position)

    def _skip_texts(self, count: int) -> None:
        """Block by block: a vocabulary has hundreds of thousands of them."""
        position, begin, block = self._position, 0, b""
        limit = min(self._file_bytes, HEADER_LIMIT_BYTES)
        for _ in range(count):
            at = position - begin
            if at + 8 > len(block):
                self._skip(position + 8 - self._position)  # what it holds is checked before it is read
                begin, at = position, 0
                block = self._block(begin)
            position += 8 + _LENGTH.unpack_from(block, at)[0]
            if position > limit:
                self._skip(position - self._position)
        self._skip(position - self._position)

    def _block(self, begin: int) -> bytes:
        self._stream.seek(begin)
        block = self._stream.read(_BLOCK_BYTES)
        if len(block) < 8:
            raise self._truncated(begin + 8)  # somebody shortens the file while we read
        return block

    def _must_have(self, count: int) -> None:
        end = self._position + count
        if end > HEADER_LIMIT_BYTES:
            raise self._invalid(f"header length > {HEADER_LIMIT_BYTES}")
        if end > self._file_bytes:
            raise self._truncated(end)

    def _truncated(self, need_bytes: int) -> Refusal:
        return Refusal("gguf_truncated", path=self._path, have_bytes=self._file_bytes, need_bytes=need_bytes)

    def _invalid(self, where: str) -> Refusal:
        return Refusal("gguf_invalid", path=self._path, where=where)
