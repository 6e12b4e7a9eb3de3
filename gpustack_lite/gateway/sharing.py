"""One count against a limit that several gateways hold together: how much more may pass here now."""

import math
from typing import NamedTuple

from gpustack_lite.gateway.windows import KEPT_SECONDS, Window

EXCHANGE_SECONDS = 2.0
"""After so long the others have heard of what was admitted here."""
SOON_SECONDS = 1.0


class Others(NamedTuple):
    """What is known of the other gateways, where there are any. `gateways` counts this one too."""

    gateways: int = 1
    is_fresh: bool = True


ALONE = Others()


class Count:
    """Requests, tokens, or requests in flight of one subject.

    Where the others are known, what they have not heard of (`own - told`) may not exceed an even share of what was
    left, so that all together exceed the limit by less than itself, whatever the delays (docs/limits.md); one request
    that fits passes in any case. Where they are not, each gateway keeps to an even share of the whole.
    """

    __slots__ = ("_telling", "elsewhere", "held", "told", "window")

    def __init__(self, window: Window | None) -> None:
        self.window = window
        """None for requests in flight, of which nobody knows when they end."""
        self.held = 0
        """What requests in flight hold, or may still use."""
        self.elsewhere = 0.0
        self.told = self._telling = 0

    def own(self, now: float) -> int:
        return self.held if self.window is None else self.held + self.window.at(now)

    def tell(self, now: float) -> int:
        self._telling = self.own(now)
        return self._telling

    def heed(self, elsewhere: float) -> None:
        """The others have what was told last."""
        self.told, self.elsewhere = self._telling, elsewhere

    def room(self, limit: int, now: float, others: Others) -> float:
        own = self.held if self.window is None else self.held + self.window.at(now)
        if others is ALONE:
            return limit - own
        if not others.is_fresh:
            return limit if own <= 0 else _share(limit, others) - own
        left, unheard = limit - own - self.elsewhere, own - self.told
        return left if unheard <= 0 else min(left, (left + unheard) / others.gateways - unheard)

    def remaining(self, limit: int, now: float, others: Others) -> int:
        if others is ALONE:
            left = limit - self.held - (0 if self.window is None else self.window.at(now))
            return left if left > 0 else 0
        return max(0, math.floor(_share(limit, others) - self._taken(now, others)))

    def _taken(self, now: float, others: Others) -> float:
        return self.own(now) + (self.elsewhere if others.is_fresh and others is not ALONE else 0)

    def wait(self, limit: int, amount: int, now: float, others: Others) -> float:
        """Seconds after which so much passes if nobody else comes."""
        if self.window is None:
            return SOON_SECONDS if others is ALONE else EXCHANGE_SECONDS
        taken = self._taken(now, others)
        needed = min(taken, taken + amount - _share(limit, others))
        if needed <= 0:
            return EXCHANGE_SECONDS
        if needed > self.window.at(now) and taken > self.own(now):
            return KEPT_SECONDS + EXCHANGE_SECONDS
        return max(SOON_SECONDS, self.window.seconds_until_free(now, math.ceil(needed)))

    def reset(self, now: float) -> int:
        """Whole seconds until all of it is there again."""
        if self.elsewhere or self.window is None:
            return KEPT_SECONDS
        return self.window.seconds_until_empty(now)


def _share(limit: int, others: Others) -> int:
    """The part of a limit that this gateway judges by."""
    return limit if others.is_fresh else max(1, limit // others.gateways)
