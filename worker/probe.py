"""When an engine counts as ready, and how long it may take: a deadline that grows with the bytes and with progress."""

from dataclasses import dataclass, fields

from gpustack_lite.domain import HttpProbe
from gpustack_lite.httpx_alone import httpx

READ_BYTES_PER_SECOND = 20e6
LONGEST_START_SECONDS = 6 * 3600.0
FIRST_INTERVAL_SECONDS = 0.05
LAST_INTERVAL_SECONDS = 0.25
QUICK_SECONDS = 5.0
_LEAST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Readings:
    """How far an engine has come, each counted in bytes: its log, what it has read, what it holds in memory."""

    log_bytes: int = 0
    read_bytes: int = 0
    rss_bytes: int = 0


def budget_seconds(base_seconds: float, bytes_to_read: int | None) -> float:
    return base_seconds + (bytes_to_read or 0) / READ_BYTES_PER_SECOND


def has_progress(best: Readings, now: Readings, *, is_answering: bool) -> bool:
    """Whether any reading passed its best so far.

    An engine that answers "not yet" may log our own questions, so its log counts only while it is silent.
    """
    if not is_answering and now.log_bytes > best.log_bytes:
        return True
    return now.read_bytes > best.read_bytes + _LEAST_BYTES or now.rss_bytes > best.rss_bytes + _LEAST_BYTES


def best_of(best: Readings, now: Readings) -> Readings:
    return Readings(*(max(getattr(best, each.name), getattr(now, each.name)) for each in fields(Readings)))


@dataclass(frozen=True, slots=True)
class StartDeadline:
    """Values only: `noted` answers with the next one. All times come from one monotonic clock."""

    began_at: float
    base_seconds: float
    expires_at: float
    best: Readings = Readings()

    @classmethod
    def of(cls, now: float, probe: HttpProbe, bytes_to_read: int | None) -> "StartDeadline":
        return cls(now, probe.deadline_seconds, now + budget_seconds(probe.deadline_seconds, bytes_to_read))

    def noted(self, now: float, readings: Readings, *, is_answering: bool) -> "StartDeadline":
        """Progress buys another `base_seconds` from now, up to six hours in all: a loop that logs is no progress."""
        if not has_progress(self.best, readings, is_answering=is_answering):
            return self
        latest = self.began_at + LONGEST_START_SECONDS
        expires_at = max(self.expires_at, min(now + self.base_seconds, latest))
        return StartDeadline(self.began_at, self.base_seconds, expires_at, best_of(self.best, readings))

    def is_over(self, now: float) -> bool:
        return now >= self.expires_at


def interval_seconds(waited_seconds: float) -> float:
    return FIRST_INTERVAL_SECONDS if waited_seconds < QUICK_SECONDS else LAST_INTERVAL_SECONDS


class EngineClient:
    """Asks engines on loopback. Proxies of the environment never catch it."""

    def __init__(self) -> None:
        self._client = httpx.AsyncClient(
            trust_env=False,
            timeout=httpx.Timeout(5.0, connect=1.0),
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def status(self, port: int, path: str, engine_key: str) -> int | None:
        """The HTTP status of GET `path`, or None where nobody answered."""
        headers = {"authorization": f"Bearer {engine_key}", "connection": "close"}
        try:
            answer = await self._client.get(f"http://127.0.0.1:{port}{path}", headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL):
            return None
        return answer.status_code

    async def close(self) -> None:
        await self._client.aclose()
