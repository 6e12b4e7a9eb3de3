"""Closes the accounts of gateways that were killed: their open requests become rows, in our spool."""

import asyncio
import logging
from pathlib import Path

from gpustack_lite.gateway import flight, owned, rows
from gpustack_lite.gateway.spool import Spool
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.signals import Signals

log = logging.getLogger(__name__)


class Salvage:
    """Two gateways may find the same file: both write its rows, which count once by their request ids."""

    def __init__(self, directory: Path, spool: Spool, ports: Ports, signals: Signals) -> None:
        self._directory = directory
        self._spool = spool
        self._disk = ports.disk
        self._processes = ports.processes
        self._signals = signals

    async def step(self) -> None:
        for path, writer in await asyncio.to_thread(self._left_behind):
            await asyncio.to_thread(self._close, path, writer)
            self._signals.touch("usage_spooled")

    def _left_behind(self) -> list[tuple[Path, Identity]]:
        names = self._disk.names(self._directory)
        writers = [(name, owned.writer_of(name, flight.KIND, flight.SUFFIX)) for name in names]
        return [
            (self._directory / name, writer)
            for name, writer in writers
            if writer is not None and not self._processes.is_alive(writer)
        ]

    def _close(self, path: Path, writer: Identity) -> None:
        """The file goes when its rows are on disk elsewhere. A row that its spool holds is told better there."""
        told = self._spool.ids_by(writer)
        found = [each for each in flight.rows_of(self._disk.read(path) or b"") if _id(each) not in told]
        self._spool.append(found)
        self._disk.remove(path)
        log.info("flight_closed", extra={"path": str(path), "rows": len(found)})


def _id(text: bytes) -> str:
    row = rows.decode(text)
    return "" if row is None else row.request_id
