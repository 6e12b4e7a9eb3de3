"""A clock that stands still until a test moves it."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class ManualClock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def advance(self, seconds: float) -> None:
        self.seconds += seconds

    def monotonic(self) -> float:
        return self.seconds

    def wall(self) -> datetime:
        return START + timedelta(seconds=self.seconds - 1000.0)

    def unix(self) -> float:
        return self.wall().timestamp()

    async def sleep(self, seconds: float) -> None:
        """Time passes at once."""
        self.advance(seconds)
        await asyncio.sleep(0)

    def pause(self, seconds: float) -> None:
        self.advance(seconds)
