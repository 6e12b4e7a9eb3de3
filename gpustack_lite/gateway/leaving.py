"""How a gateway ends: nothing new is accepted, what runs is finished, and what it owes is handed over."""

import asyncio
import logging
import signal

from gpustack_lite.gateway.door import Door
from gpustack_lite.gateway.parts import Parts

log = logging.getLogger(__name__)
DRAIN_SECONDS = 30.0
EVENT_STREAM_SECONDS = 1.0
"""How long after SIGHUP an open console may still read here before it is sent to our successor."""
HAND_OVER_SECONDS = 3.0
_STEP_SECONDS = 0.05


class Leaving:
    """SIGTERM: finish, at most 30 s. SIGHUP: finish, however long it takes, while a successor serves already."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._clock = parts.ports.clock
        self._asked = asyncio.Event()
        self._is_urgent = False
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._ask, True)
        loop.add_signal_handler(signal.SIGHUP, self._ask, False)

    def _ask(self, is_urgent: bool) -> None:
        self._is_urgent = self._is_urgent or is_urgent
        self._asked.set()

    async def wanted(self) -> None:
        await self._asked.wait()
        log.info("gateway_leaving", extra={"is_urgent": self._is_urgent, "connections": len(self._connections)})

    @property
    def _connections(self) -> list[Door]:
        return [each for each in self._parts.house.state.connections if isinstance(each, Door)]

    async def drain(self) -> None:
        """Idle connections are closed at once only when we are in a hurry: a request could be on its way."""
        self._parts.house.is_draining = True
        started = self._clock.monotonic()
        urgent_since: float | None = None
        while self._connections:
            if self._is_urgent and urgent_since is None:
                urgent_since = self._clock.monotonic()
                self._finish_soon()
            if urgent_since is not None and self._clock.monotonic() - urgent_since > DRAIN_SECONDS:
                self._end_all()
            if self._clock.monotonic() - started > EVENT_STREAM_SECONDS:
                self._parts.relaying.end_event_streams()
            await self._clock.sleep(_STEP_SECONDS)

    def _finish_soon(self) -> None:
        self._parts.relaying.end_event_streams()
        for connection in self._connections:
            connection.shutdown()

    def _end_all(self) -> None:
        for connection in self._connections:
            connection.transport.abort()

    async def hand_over(self) -> None:
        """What is not delivered in a few seconds waits on disk for whoever comes next."""
        await self._parts.writer.write()
        self._parts.flight.close()
        try:
            async with asyncio.timeout(HAND_OVER_SECONDS):
                await self._parts.courier.step()
                await self._parts.status.say_goodbye()
        except TimeoutError:
            log.warning("hand_over_unfinished", extra={"rows": self._parts.spool.waiting_rows})
        self._parts.pool.close()
        log.info("gateway_left")
