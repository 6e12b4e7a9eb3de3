"""What the account of a request costs in the gateway's loop: `python -m benchmarks.ledger`."""

import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path

from gpustack_lite.domain import Usage
from gpustack_lite.gateway.flight import Flight
from gpustack_lite.gateway.ledger import Ledger
from gpustack_lite.gateway.sse import EventFilter
from gpustack_lite.ports import Identity, SystemClock, SystemDisk
from gpustack_lite.wire import Credential

KEY = Credential(digest="d", kind="key", id=7, user_id=2, user="ada", role="user")
USAGE = Usage(700, 300)
ID = "0b5c7a0e-6f5a-4c27-9d52-6a1f6f8e2f10-1a2b3"


def whole(ledger: Ledger) -> None:
    with ledger.open(ID, KEY, "", "/v1/chat/completions", shown_id=ID) as entry:
        entry.asks_for("qwen2.5-7b-instruct", is_stream=True)
        entry.reach(5, "w1")
        entry.usage = USAGE
        entry.end(200)


def best_us(act: Callable[[], object], times: int = 100) -> float:
    """The best of many short rounds: somebody else's turn on the processor is not our cost."""
    return min(timeit.repeat(act, number=times, repeat=2000)) / times * 1e6


def main() -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        clock = SystemClock()
        recorded = Ledger(clock, lambda: None, Flight(Path(folder), SystemDisk(), Identity(1, 1, "b")))

        def request() -> None:
            whole(recorded)
            recorded.forget(1)

        print(f"a request, opened, reached, closed, freed: {best_us(request):.2f} us")
        with recorded.open(ID, KEY, "m", "/v1/chat/completions") as entry:
            entry.reach(5, "w1")
            entry.events = EventFilter(hides_usage=True)
            entry.events.content_frames = 3
            now = clock.monotonic()
            print(f"a chunk: {best_us(lambda: entry.note_content(now)):.2f} us")


if __name__ == "__main__":
    main()
