"""Bytes are held against what the hub promised."""

import hashlib

import pytest

from worker.downloads.digest import Digest
from worker.downloads.names import Expected

CONTENT = b"hello\n"
GIT_HASH = "ce013625030ba8dba906f756967f9e9ca394464a"
"""`printf 'hello\\n' | git hash-object --stdin`."""


def digest_of(expected: Expected, content: bytes) -> bool:
    digest = Digest(expected)
    digest.update(content[:2])
    digest.update(content[2:])
    return digest.is_right()


@pytest.mark.parametrize(
    "expected",
    [
        Expected(6, "sha256", hashlib.sha256(CONTENT).hexdigest()),
        Expected(6, "git", GIT_HASH),
        Expected(6, "size"),
    ],
    ids=lambda each: each.kind,
)
def test_the_right_bytes_are_right(expected: Expected) -> None:
    assert digest_of(expected, CONTENT)
    assert not digest_of(expected, CONTENT + b"x")
    assert digest_of(expected, b"HELLO\n") == (expected.kind == "size")
