import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpustack_lite.errors import Refusal
from gpustack_lite.hub import gguf
from gpustack_lite.hub.gguf import Array, read_header
from tests.fakes.gguf import F16, F32, Q4_0, Q4_K, Q8_0, Numbers, Strings, header, write_gguf, write_tiny_gguf

VALID, DATA_BYTES = header(
    {"general.architecture": "llama", "llama.block_count": 2, "x": Strings(["a", "b"]), "y": Numbers([1, 2])},
    [("a", (32, 4), Q8_0), ("b", (4,), F32)],
)
NEEDED_BYTES = len(VALID) + 160 + 16
"""The second tensor begins at the next multiple of 32."""
WHOLE = VALID + bytes(DATA_BYTES)


def refusal(content: bytes, folder: Path) -> Refusal | None:
    path = folder / "m.gguf"
    path.write_bytes(content)
    try:
        read_header(path)
    except Refusal as refused:
        return refused
    return None


@pytest.mark.parametrize("version", [2, 3])
def test_a_header_is_read(tmp_path: Path, version: int) -> None:
    metadata = {
        "general.architecture": "llama",
        "u": 5,
        "i": -5,
        "f": 0.5,
        "b": True,
        "text": "ünïcode",
        "texts": Strings(["a", "bc"]),
        "numbers": Numbers([1, 2, 3]),
    }
    read = read_header(write_gguf(tmp_path / "m.gguf", metadata, [("a", (64, 2), Q4_0)], version=version))
    assert (read.version, read.metadata["u"], read.metadata["i"], read.metadata["b"]) == (version, 5, -5, True)
    assert (read.metadata["text"], read.metadata["f"]) == ("ünïcode", 0.5)
    assert read.metadata["texts"] == Array(2)
    assert read.metadata["numbers"] == Array(3, (1, 2, 3))


@pytest.mark.parametrize(
    ("type_id", "weights_bytes"),
    [
        pytest.param(F32, 512 * 4, id="F32"),
        pytest.param(F16, 512 * 2, id="F16"),
        pytest.param(Q4_0, 16 * 18, id="Q4_0"),
        pytest.param(Q8_0, 16 * 34, id="Q8_0"),
        pytest.param(Q4_K, 2 * 144, id="Q4_K"),
    ],
)
def test_weights_are_counted_by_their_real_types(tmp_path: Path, type_id: int, weights_bytes: int) -> None:
    read = read_header(write_gguf(tmp_path / "m.gguf", {}, [("a", (256, 2), type_id)]))
    assert read.weights_bytes == weights_bytes
    assert read.tensors[0].element_count == 512


def test_a_type_of_the_future_is_counted_by_the_size_of_the_file(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", {}, [("a", (256, 2), F32)])
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<QQIQ", 256, 2, F32, 0), struct.pack("<QQIQ", 256, 2, 77, 0)))
    read = read_header(path)
    assert read.weights_bytes == read.file_bytes - read.data_offset == 2048


def test_a_truncated_file_says_how_much_it_has_and_needs(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "m.gguf", seed=None)
    whole = path.stat().st_size
    with path.open("r+b") as stream:
        stream.truncate(whole - 64)
    with pytest.raises(Refusal) as refused:
        read_header(path)
    assert refused.value.code == "gguf_truncated"
    assert refused.value.params["have_bytes"] == whole - 64
    assert whole - 32 < int(str(refused.value.params["need_bytes"])) <= whole


@pytest.mark.parametrize("length", [4, 8, 23, 24, 30, len(VALID) // 2, len(VALID) - 40])
def test_a_header_that_is_cut_is_truncated(tmp_path: Path, length: int) -> None:
    refused = refusal(WHOLE[:length], tmp_path)
    assert refused is not None
    assert refused.code == "gguf_truncated"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"", "not_a_model", id="empty"),
        pytest.param(b"GG", "not_a_model", id="two bytes"),
        pytest.param(b"PK\x03\x04" + bytes(100), "not_a_model", id="another format"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "gguf_version", id="version 1"),
        pytest.param(b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "gguf_version", id="big endian"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "gguf_invalid", id="pairs without end"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0), "gguf_invalid", id="tensors without end"),
        pytest.param(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62) + bytes(50), "gguf_invalid", id="endless key"),
    ],
)
def test_what_is_no_gguf_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    refused = refusal(content, tmp_path)
    assert refused is not None
    assert refused.code == code


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        pytest.param(struct.pack("<IIQ", 9, 4, 2**61), "gguf_invalid", id="array without end"),
        pytest.param(struct.pack("<IIQ", 9, 8, 3_000_000), "gguf_truncated", id="more texts than bytes"),
        pytest.param(struct.pack("<IIQ", 9, 9, 1) + bytes(20), "gguf_invalid", id="array of arrays"),
        pytest.param(struct.pack("<I", 77) + bytes(20), "gguf_invalid", id="unknown type"),
        pytest.param(struct.pack("<IQ", 8, 2**40) + bytes(20), "gguf_invalid", id="endless text"),
    ],
)
def test_values_that_cannot_be_are_refused(tmp_path: Path, tail: bytes, code: str) -> None:
    start = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k"
    refused = refusal(start + tail + bytes(64), tmp_path)
    assert refused is not None
    assert refused.code == code


@pytest.mark.parametrize("block_bytes", [8, 9, 16, 31, 1024])
def test_texts_are_passed_over_wherever_a_block_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(gguf, "_BLOCK_BYTES", block_bytes)
    words = Strings(["", "a", "word" * 20, "", "z" * 23, "end"])
    path = write_gguf(tmp_path / "m.gguf", {"words": words, "after": 7}, [])
    assert read_header(path).metadata == {"words": Array(6), "after": 7}


def test_a_text_longer_than_the_file_is_truncated(tmp_path: Path) -> None:
    words = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"w" + struct.pack("<IIQ", 9, 8, 2)
    found = refusal(words + struct.pack("<Q", 2**63) + b"x" * 100, tmp_path)
    assert found is not None
    assert found.code in {"gguf_truncated", "gguf_invalid"}


def test_nothing_beyond_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "HEADER_LIMIT_BYTES", 100)
    refused = refusal(WHOLE, tmp_path)
    assert refused is not None
    assert refused.code == "gguf_invalid"


def test_an_alignment_of_nothing_is_refused(tmp_path: Path) -> None:
    refused = refusal(header({"general.alignment": 0}, [])[0], tmp_path)
    assert refused is not None
    assert refused.code == "gguf_invalid"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400))
def test_random_bytes_are_refused_and_nothing_else_happens(tmp_path: Path, content: bytes) -> None:
    refusal(content, tmp_path)
    refusal(b"GGUF\x03\x00\x00\x00" + content, tmp_path)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_damaged_file_is_read_or_refused_and_nothing_else_happens(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(WHOLE)
    for position, byte in changes:
        content[position] = byte
    refusal(bytes(content), tmp_path)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(0, len(WHOLE)))
def test_a_file_cut_anywhere_is_refused_unless_its_tensors_are_whole(tmp_path: Path, length: int) -> None:
    refused = refusal(WHOLE[:length], tmp_path)
    assert (refused is None) == (length >= NEEDED_BYTES)
