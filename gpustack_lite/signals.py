"""Hints that something changed, by topic. A lost hint costs a poll, never a fact."""

import asyncio
from collections import defaultdict


class Signals:
    """`touch` wakes everyone who waits for the topic. Waiters clear before they read, so nothing slips between."""

    def __init__(self) -> None:
        self._events: dict[str, set[asyncio.Event]] = defaultdict(set)

    def touch(self, *topics: str) -> None:
        for topic in topics:
            for event in self._events[topic]:
                event.set()

    def listen(self, *topics: str) -> "Listener":
        return Listener(self, topics)

    def add(self, topic: str, event: asyncio.Event) -> None:
        self._events[topic].add(event)

    def discard(self, topic: str, event: asyncio.Event) -> None:
        self._events[topic].discard(event)


class Listener:
    """A subscription held with `with`; `wait` answers True when it was woken and False when the time ran out."""

    def __init__(self, signals: Signals, topics: tuple[str, ...]) -> None:
        self._signals = signals
        self._topics = topics
        self._event = asyncio.Event()

    def __enter__(self) -> "Listener":
        for topic in self._topics:
            self._signals.add(topic, self._event)
        return self

    def __exit__(self, *_: object) -> None:
        for topic in self._topics:
            self._signals.discard(topic, self._event)

    def clear(self) -> None:
        """Call before reading state, so that a change made meanwhile wakes us again."""
        self._event.clear()

    async def wait(self, timeout: float) -> bool:
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            return False
        return True
