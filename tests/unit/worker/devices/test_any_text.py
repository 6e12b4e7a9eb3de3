"""Whatever a tool prints, a parser answers: arbitrary text, and answers of ours with parts cut out, never raise."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import npu_smi
from worker.devices import amd, ascend, ascend_fields, ascend_table, links, nvidia, others
from worker.devices.ascend import Said

TABLES = [npu_smi.said(machine, "info") for machine in (npu_smi.a2(2), npu_smi.a3(1), npu_smi.duo(1), npu_smi.a5())]
OTHERS = [
    npu_smi.said(npu_smi.a2(2), "info", *more) for more in (["-m"], ["-l"], ["-t", "topo"], ["-t", "health", "-i", "0"])
]
CELLS = st.sampled_from(["0", "-", "NA", "[N/A]", "1 / 2", "9" * 40, "1e999", "", "MIG 1g.5gb", "card0", "∞", "²"])
PARSERS: list[Callable[[str], object]] = [
    lambda text: ascend.devices("w", Said(ascend_table.parse(text), ascend_fields.parse_mapping(text))),
    ascend_fields.parse_counts,
    ascend_fields.parse_board,
    ascend_fields.parse_health,
    ascend_fields.parse_processes,
    ascend_fields.parse_versions,
    lambda text: links.parse(text).groups(),
    links.cpu_set,
    lambda text: nvidia.devices("w", nvidia.Said(nvidia.parse_rows(text), nvidia.parse_list(text))),
    nvidia.parse_processes,
    nvidia.parse_slice_memory,
    nvidia.cuda_version,
    nvidia.unknown_field,
    lambda text: amd.from_rocm_smi("w", text),
    lambda text: amd.from_amd_smi("w", text, text, text),
    lambda text: others.from_cnmon("w", text),
    lambda text: others.from_mx_smi("w", text),
    lambda text: others.from_mthreads_gmi("w", text),
    lambda text: others.from_ixsmi("w", text),
    lambda text: others.from_system_profiler("w", text),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | CELLS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["gpu", "GPU", "Index", "card0", "asic", "mem_usage", "total_vram", "value", "gpu_data", "hip_id"]
            )
            | st.sampled_from(
                ["FB Memory Usage", "Total", "vram Total Memory (MiB)", "SPDisplaysDataType", "Temperature"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """One of our answers with a stretch of it cut out, repeated, or replaced by something else."""
    text = draw(st.sampled_from([*TABLES, *OTHERS]))
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 300)))
    return text[:start] + draw(CELLS) * draw(st.integers(0, 2)) + text[end:]


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=400), damaged(), JSON.map(json.dumps)))
def test_no_text_makes_a_parser_raise(text: str) -> None:
    for parse in PARSERS:
        parse(text)


@settings(max_examples=100, deadline=None)
@given(damaged())
def test_what_is_found_in_damaged_tables_is_still_sane(text: str) -> None:
    devices = ascend.devices("w", Said(ascend_table.parse(text)))
    assert len({each.index for each in devices}) == len(devices)
    for each in devices:
        assert each.memory_total_bytes is None or each.memory_total_bytes > 0
        assert each.schedulable is False or each.memory_total_bytes is not None


@pytest.mark.parametrize("parse", PARSERS)
def test_a_long_text_is_read_in_no_time(parse: Callable[[str], object]) -> None:
    """Bounded by the test's own timeout: no pattern here may go back over what it read."""
    parse("| 0 " * 200_000)
    parse(" " * 300_000 + ":")
    parse('{"a": ' * 50_000)
