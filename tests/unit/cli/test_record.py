from pathlib import Path

import pytest

from gpustack_lite.cli import record
from gpustack_lite.cli.record import Record
from gpustack_lite.ports import Identity, SystemDisk

WHOLE = Record(
    supervisor=Identity(10, 11, "boot"),
    url="http://127.0.0.1:9090",
    host="127.0.0.1",
    port=9090,
    children={"server": Identity(20, 21, "boot"), "gateway-0": Identity(30, 31, "boot")},
    leaving=(Identity(40, 41, "boot"),),
)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    record.write(SystemDisk(), tmp_path / "supervisor.json", WHOLE)
    assert record.read(SystemDisk(), tmp_path / "supervisor.json") == WHOLE
    assert [each.pid for each in WHOLE.processes] == [20, 30, 40]


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", '{"pid": "x"}', '{"pid": 1, "start_ticks": 2}'])
def test_a_record_that_cannot_be_understood_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "supervisor.json").write_text(content)
    assert record.read(SystemDisk(), tmp_path / "supervisor.json") is None


def test_no_record_is_none(tmp_path: Path) -> None:
    assert record.read(SystemDisk(), tmp_path / "supervisor.json") is None
