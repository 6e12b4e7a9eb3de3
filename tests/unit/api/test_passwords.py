import asyncio
import threading

import pytest
from argon2 import PasswordHasher

from gpustack_lite.api import passwords
from gpustack_lite.api.passwords import AT_ONCE, WAITING_AT_MOST, Passwords, check_new_password
from gpustack_lite.errors import Refusal
from tests.fakes.management import CHEAP


async def test_a_password_matches_its_own_hash_alone() -> None:
    each = Passwords(CHEAP)
    stored = await each.hash("right")
    assert stored.startswith("$argon2id$")
    assert await each.matches(stored, "right")
    assert not await each.matches(stored, "wrong")


@pytest.mark.parametrize("stored", [None, "", "no hash"], ids=["unknown user", "empty", "damaged"])
async def test_what_is_no_hash_matches_nothing(stored: str | None) -> None:
    assert not await Passwords(CHEAP).matches(stored, "")


def test_an_unknown_user_costs_what_a_known_one_costs() -> None:
    assert not PasswordHasher().check_needs_rehash(passwords._UNMATCHABLE)


class Slow(PasswordHasher):
    """Counts how many work at once, and works until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.go_on = threading.Event()

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:
        self.now += 1
        self.most = max(self.most, self.now)
        self.go_on.wait(30)
        self.now -= 1
        return True


async def test_few_work_at_once_and_no_more_than_a_bound_wait() -> None:
    slow = Slow()
    each = Passwords(slow)
    waiting = [asyncio.ensure_future(each.matches("x", "y")) for _ in range(WAITING_AT_MOST)]
    await asyncio.sleep(0)
    with pytest.raises(Refusal, match="login_busy"):
        await each.matches("x", "y")
    slow.go_on.set()
    assert all(await asyncio.gather(*waiting))
    assert slow.most <= AT_ONCE


@pytest.mark.parametrize(
    ("new", "current", "code"),
    [
        ("short", None, "password_length"),
        ("x" * 1025, None, "password_length"),
        ("same-password", "same-password", "password_unchanged"),
        ("long enough", "another", None),
    ],
)
def test_a_new_password_must_be_new_and_of_some_length(new: str, current: str | None, code: str | None) -> None:
    if code is None:
        check_new_password(new, current, username="ada")
        return
    with pytest.raises(Refusal, match=code):
        check_new_password(new, current, username="ada")
