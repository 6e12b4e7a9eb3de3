"""What glibc's allocator is told once, so that memory that held a large body goes back to the system."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""malloc.h; mallopt(3)."""
LARGE_BYTES = 256 * 1024
ARENAS = 2


def give_back_large() -> bool:
    """Whether the allocator listened; others than glibc's have no such word, and need none.

    Left alone, glibc raises the size from which it maps memory of its own to that of the largest block it ever freed:
    after one body of a megabyte all such bodies come from the heap, which their leftovers keep from shrinking.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    wishes = ((_M_MMAP_THRESHOLD, LARGE_BYTES), (_M_TRIM_THRESHOLD, 2 * LARGE_BYTES), (_M_ARENA_MAX, ARENAS))
    return all([mallopt(name, value) == 1 for name, value in wishes])
