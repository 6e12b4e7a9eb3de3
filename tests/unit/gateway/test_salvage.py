import asyncio
from pathlib import Path

import pytest

from gpustack_lite.gateway import rows
from gpustack_lite.gateway.flight import Flight
from gpustack_lite.gateway.rows import Row
from gpustack_lite.gateway.salvage import Salvage
from gpustack_lite.gateway.spool import Spool
from gpustack_lite.ports import Identity, Ports, SystemDisk, SystemProcesses
from gpustack_lite.signals import Signals
from tests.fakes.clock import START

ME, DEAD, LIVING = Identity(10, 1, "b"), Identity(11, 1, "b"), Identity(12, 1, "b")


class Machine(SystemProcesses):
    def is_alive(self, identity: Identity) -> bool:
        return identity != DEAD


def row(name: str, **fields: object) -> bytes:
    given = {
        "request_id": name,
        "model": "m",
        "path": "/p",
        "started_at": START,
        "seconds": 0.0,
        "status": 200,
        **fields,
    }
    return rows.encode(Row(**given))


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path, SystemDisk(), Machine(), ME)


@pytest.fixture
def salvage(tmp_path: Path, spool: Spool) -> Salvage:
    return Salvage(tmp_path, spool, Ports(processes=Machine()), Signals())


def told(spool: Spool) -> dict[str, Row]:
    spool.seal()
    found = [rows.decode(text) for path in spool.deliverable() for text in spool.read(path)]
    return {each.request_id: each for each in found if each is not None}


async def test_what_a_killed_gateway_was_doing_becomes_rows(tmp_path: Path, spool: Spool, salvage: Salvage) -> None:
    dead = Flight(tmp_path, SystemDisk(), DEAD)
    dead.begin(row("open"))
    dead.finish(dead.begin(row("done")), row("done"))
    await salvage.step()
    await salvage.step()
    assert {name: each.cause for name, each in told(spool).items()} == {"open": "gateway_killed", "done": None}
    assert not list(tmp_path.glob("flight.11.*"))


async def test_who_lives_keeps_his_own_account(tmp_path: Path, spool: Spool, salvage: Salvage) -> None:
    Flight(tmp_path, SystemDisk(), LIVING).begin(row("open"))
    await salvage.step()
    assert told(spool) == {}
    assert list(tmp_path.glob("flight.12.*"))


async def test_a_row_that_the_dead_one_had_written_itself_is_not_closed_again(
    tmp_path: Path, spool: Spool, salvage: Salvage
) -> None:
    Flight(tmp_path, SystemDisk(), DEAD).begin(row("r1"))
    Spool(tmp_path, SystemDisk(), Machine(), DEAD).append([row("r1")])
    await salvage.step()
    assert told(spool)["r1"].cause is None


async def test_a_disk_that_takes_no_rows_keeps_the_recording(tmp_path: Path) -> None:
    class Full(SystemDisk):
        def append(self, path: Path, content: bytes) -> None:
            raise OSError(28, "No space left on device")

    Flight(tmp_path, SystemDisk(), DEAD).begin(row("open"))
    full = Spool(tmp_path, Full(), Machine(), ME)
    with pytest.raises(OSError, match="space"):
        await Salvage(tmp_path, full, Ports(processes=Machine(), disk=Full()), Signals()).step()
    assert list(tmp_path.glob("flight.11.*"))


async def test_two_that_find_the_same_file_do_not_stumble(tmp_path: Path, spool: Spool, salvage: Salvage) -> None:
    Flight(tmp_path, SystemDisk(), DEAD).begin(row("open"))
    other = Salvage(tmp_path, spool, Ports(processes=Machine()), Signals())
    await asyncio.gather(salvage.step(), other.step())
    assert list(told(spool)) == ["open"]
