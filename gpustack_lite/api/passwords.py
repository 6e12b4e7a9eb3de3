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


_COMMON = """
password password1 password12 password123 passw0rd p@ssw0rd p@ssword pa$$word qwertyui qwertyuiop qwerty123 qwerty1234
1q2w3e4r 1q2w3e4r5t 1qaz2wsx 1qazxsw2 zaq12wsx q1w2e3r4 asdfghjk asdfghjkl zxcvbnm123 12345678 123456789 1234567890
0123456789 87654321 987654321 0987654321 11223344 12341234 123123123 iloveyou iloveyou1 sunshine princess football
baseball superman trustno1 starwars whatever welcome1 welcome123 letmein1 letmein123 changeme changeme1 changeme123
administrator admin123 admin1234 adminadmin admin12345 abcd1234 abc12345 abcdefgh a1b2c3d4 a1234567 aa123456 test1234
testtest secret123 default1 computer internet woaini1314 5201314520 woaini520 gpustack gpustack1 gpustack123
gpustack-lite
"""
COMMON = frozenset(_COMMON.split())
"""What is tried first; also with other cases."""
FEWEST_CHARACTERS = 4
"""Different ones: `aaaaaaaa` and `abababab` are tried early too."""


def check_new_password(new: str, current: str | None = None, *, username: str, param: str = "new") -> None:
    """Length rather than kinds of characters; nothing that stands on everybody's list.

    Raises:
        Refusal: `password_length`, `password_unchanged` or `password_guessable`.
    """
    if not SHORTEST <= len(new) <= LONGEST:
        raise Refusal("password_length", param=param, shortest=SHORTEST, longest=LONGEST)
    if new == current:
        raise Refusal("password_unchanged", param=param)
    if new.casefold() in COMMON | {username.casefold()} or len(set(new)) < FEWEST_CHARACTERS:
        raise Refusal("password_guessable", param=param)
