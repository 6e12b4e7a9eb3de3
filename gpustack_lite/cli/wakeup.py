"""Signals as facts that a plain loop can wait for."""

import os
import select
import signal
from collections.abc import Callable, Iterable
from types import FrameType

from gpustack_lite.ports import Clock

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
LOOK_AGAIN_SECONDS = 0.05


class Wakeup:
    """While held with `with`, signals interrupt `wait` and are counted here."""

    def __init__(self, clock: Clock) -> None:
        self.stops_asked = 0
        self.is_replacement_asked = False
        self._clock = clock

    def __enter__(self) -> "Wakeup":
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _note) for number in HANDLED}
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)  # `block` may have been called before an exec
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, seconds: float) -> None:
        """Until a signal arrives or the time runs out."""
        readable, _, _ = select.select([self._reader], [], [], max(0.0, seconds))
        for number in os.read(self._reader, 4096) if readable else b"":
            self.stops_asked += number in {signal.SIGINT, signal.SIGTERM}
            self.is_replacement_asked |= number == signal.SIGHUP

    def until(self, condition: Callable[[], bool], seconds: float, *, stops_asked: int = 1) -> bool:
        """Wait for the condition; False when the time ran out or somebody asked `stops_asked` times to stop."""
        ends_at = self._clock.monotonic() + seconds
        while not condition():
            left = ends_at - self._clock.monotonic()
            if left <= 0 or self.stops_asked >= stops_asked:
                return False
            self.wait(min(left, LOOK_AGAIN_SECONDS))
        return True


def block(numbers: Iterable[int] = HANDLED) -> None:
    """Hold signals back until the next `Wakeup`, also across an exec, whose default action would end us."""
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


def unblock(numbers: Iterable[int] = HANDLED) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def _note(number: int, frame: FrameType | None) -> None:
    """The pipe tells."""
