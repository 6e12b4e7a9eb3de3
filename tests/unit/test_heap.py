"""The allocator's word about large blocks."""

import sys

from gpustack_lite import heap


def test_glibc_listens_and_others_are_left_alone() -> None:
    assert heap.give_back_large() is (sys.platform == "linux" and "musl" not in sys.version.lower())
