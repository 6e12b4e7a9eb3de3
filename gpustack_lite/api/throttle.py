"""Slows down guessing: a growing pause per account and address, never a lock that others could close."""

import hashlib
import math
from collections import OrderedDict
from dataclasses import dataclass, field

FREE_ATTEMPTS = 5
LONGEST_PAUSE_SECONDS = 60.0
FORGET_SECONDS = 900.0
REMEMBERED = 10_000


@dataclass(slots=True)
class _Attempts:
    count: int
    last: float


@dataclass(slots=True)
class LoginThrottle:
    """An attempt counts as failed until `succeeded` is called, so that parallel guesses cannot slip through."""

    _attempts: OrderedDict[str, _Attempts] = field(default_factory=OrderedDict)

    def begin(self, account: str, address: str, now: float) -> int | None:
        """Count an attempt. None when it may go on, else the whole seconds to wait before the next one."""
        key = _key(account, address)
        seen = self._attempts.get(key)
        if seen is None or now - seen.last > FORGET_SECONDS:
            seen = _Attempts(0, now)
        wait = seen.last + pause_seconds(seen.count) - now
        if wait > 0:
            return math.ceil(wait)
        self._remember(key, _Attempts(seen.count + 1, now))
        return None

    def succeeded(self, account: str, address: str) -> None:
        self._attempts.pop(_key(account, address), None)

    def _remember(self, key: str, attempts: _Attempts) -> None:
        self._attempts[key] = attempts
        self._attempts.move_to_end(key)
        while len(self._attempts) > REMEMBERED:
            self._attempts.popitem(last=False)


def pause_seconds(count: int) -> float:
    """0 for the first five, then 1, 2, 4 ... 60 s."""
    if count < FREE_ATTEMPTS:
        return 0.0
    return min(2.0 ** min(count - FREE_ATTEMPTS, 10), LONGEST_PAUSE_SECONDS)


def _key(account: str, address: str) -> str:
    return hashlib.sha256(f"{account}\0{address}".encode("utf-8", "surrogatepass")).hexdigest()
