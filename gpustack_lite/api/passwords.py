"""Argon2id off the event loop, at most two at a time, with equal work for accounts that do not exist."""

import asyncio
from dataclasses import dataclass, field

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gpustack_lite.errors import Refusal

AT_ONCE = 2
WAITING_AT_MOST = 32
SHORTEST = 8
LONGEST = 1024
_UNMATCHABLE = "$argon2id$v=19$m=65536,t=3,p=4$+zOGlaob/ePjgthSlpwGdQ$YrSa+SzWrsHQX+fbr5bCzKBDhZXO1PxLJ3OVxzz6JPo"
"""A hash with the default parameters of which nobody knows the password: what an unknown account is compared with."""


@dataclass(slots=True)
class Passwords:
    hasher: PasswordHasher = field(default_factory=PasswordHasher)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _waiting: int = 0

    async def hash(self, password: str) -> str:
        async with self._slots:
            return await asyncio.to_thread(self.hasher.hash, password)

    async def matches(self, stored: str | None, password: str) -> bool:
        """Whether the password is right. `stored` None does the same work and answers False.

        Raises:
            Refusal: `login_busy`, when too many wait already.
        """
        if self._waiting >= WAITING_AT_MOST:
            raise Refusal("login_busy", status=429, seconds=1)
        self._waiting += 1
        try:
            async with self._slots:
                return await asyncio.to_thread(self._verify, stored, password)
        finally:
            self._waiting -= 1

    def _verify(self, stored: str | None, password: str) -> bool:
        try:
            return self.hasher.verify(stored or _UNMATCHABLE, password) and stored is not None
        except (VerificationError, InvalidHashError):
            return False


def check_new_password(new: str, current: str | None = None) -> None:
    if not SHORTEST <= len(new) <= LONGEST:
        raise Refusal("password_length", param="new", shortest=SHORTEST, longest=LONGEST)
    if new == current:
        raise Refusal("password_unchanged", param="new")
