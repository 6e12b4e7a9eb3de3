"""A second server program: `python -m tests.fakes.placer URL COUNT EPOCH` adds models and gives them places."""

import asyncio
import sys

from gpustack_lite.db.engine import open_database
from gpustack_lite.ports import Ports
from gpustack_lite.server import placements, replicas
from gpustack_lite.server.core import Core
from gpustack_lite.settings import Settings
from gpustack_lite.signals import Signals
from tests.fakes.cluster import use_fake_backend
from tests.fakes.rows import a_model


async def main(url: str, count: int, epoch: int) -> None:
    ports = Ports()
    db = await open_database(url, ports)
    core = Core(db, Signals(), ports, Settings(), epoch)
    for number in range(count):
        async with db.write() as session:
            name = f"{ports.randomness.unique_id()}-{number}"
            session.add(a_model(id=None, name=name, backend="fake", source="none:"))
        await replicas.step(core)
        await placements.step(core)
    await db.close()


if __name__ == "__main__":
    use_fake_backend()
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
