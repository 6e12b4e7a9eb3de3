from datetime import timedelta
from pathlib import Path

import pytest

from gpustack_lite.gateway import route_copy
from gpustack_lite.gateway.route_copy import Damaged, Saved
from gpustack_lite.ports import SystemDisk
from gpustack_lite.wire import RoutesReply
from tests.fakes.clock import START

REPLY = RoutesReply(epoch=1, models_revision=2, credentials_revision=3, models=(), credentials=())
SAVED = Saved(boot_id="b", monotonic=100.0, wall=START, routes=REPLY.model_dump_json())


def test_what_was_written_is_read() -> None:
    assert route_copy.decode(route_copy.encode(SAVED)) == (SAVED, REPLY)


@pytest.mark.parametrize("at", range(0, 300, 7))
def test_any_byte_that_changed_is_noticed(at: int) -> None:
    data = bytearray(route_copy.encode(SAVED))
    data[at % len(data)] ^= 1
    with pytest.raises(Damaged):
        route_copy.decode(bytes(data))


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"\xff", route_copy.encode(SAVED)[:-10], route_copy.encode(Saved("b", 1.0, START, "{}"))],
    ids=["empty", "no fields", "a list", "not UTF-8", "cut", "without routes"],
)
def test_what_is_no_copy_is_refused(data: bytes) -> None:
    with pytest.raises(Damaged):
        route_copy.decode(data)


@pytest.mark.parametrize(
    ("boot_id", "monotonic", "hours", "age"),
    [
        pytest.param("b", 160.0, 9, 60.0, id="same boot: the monotonic clock, whatever the wall says"),
        pytest.param("b", 160.0, -9, 60.0, id="same boot, wall put back"),
        pytest.param("c", 5.0, 2, 7200.0, id="another boot: the wall"),
        pytest.param("c", 5.0, -1, route_copy.FOR_EVER_SECONDS, id="another boot, wall put back: too old"),
    ],
)
def test_the_age_is_by_boot_or_by_wall(boot_id: str, monotonic: float, hours: float, age: float) -> None:
    wall = START + timedelta(hours=hours)
    assert route_copy.age_seconds(SAVED, boot_id=boot_id, monotonic=monotonic, wall=wall) == age


def test_a_copy_that_is_missing_or_damaged_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "routes.json"
    assert route_copy.load(SystemDisk(), path) is None
    path.write_bytes(b"{")
    assert route_copy.load(SystemDisk(), path) is None
    assert "routes_copy_damaged" in caplog.text
    assert path.exists()
