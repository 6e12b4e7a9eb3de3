"""How fast a download is, and for how long it will go on: nothing is said before it is known. Pure."""

from collections import deque

WINDOW_SECONDS = 15.0
FEWEST_SECONDS = 2.0


class Pace:
    """Bytes that lay there already are no speed: `note` begins to measure at its first call."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now: float, done_bytes: int) -> None:
        """Fewer bytes than before: a file was begun anew, and so is the measuring."""
        if self._seen and done_bytes < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, done_bytes))
        while now - self._seen[0][0] > WINDOW_SECONDS and len(self._seen) > 2:
            self._seen.popleft()

    def per_second(self, now: float) -> float | None:
        if not self._seen or now - self._seen[0][0] < FEWEST_SECONDS:
            return None
        return (self._seen[-1][1] - self._seen[0][1]) / (now - self._seen[0][0])

    def eta_seconds(self, now: float, rest_bytes: int) -> float | None:
        rate = self.per_second(now)
        return None if not rate else rest_bytes / rate
