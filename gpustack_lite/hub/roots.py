"""Paths that people name, confined to the directories that an administrator allowed: one function for all of them."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpustack_lite.errors import Refusal


class Roots:
    """What lies outside is not told of, not even whether it exists."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._shown = ", ".join(str(root) for root in roots)
        self._allowed = [Path(os.path.realpath(root)) for root in roots]

    def real(self, path: Path) -> Path:
        """With all its links resolved.

        Raises:
            Refusal: `path_outside_roots` or `source_missing`.
        """
        real = Path(os.path.realpath(path))
        self._must_be_inside(real, path)
        if not os.path.lexists(real):
            raise Refusal("source_missing", param="source", path=str(path))
        return real

    def folder(self, path: Path) -> Path:
        """Raises:
        Refusal: as `real`.
        """
        real = self.real(path)
        if not real.is_dir():
            raise Refusal("source_missing", param="source", path=str(path))
        return real

    def must_still_be(self, path: Path, real: Path) -> None:
        """What `real` answered before is its answer now: nobody has put a link in the way since.

        Raises:
            Refusal: as `real`, or `path_changed`.
        """
        if self.real(path) != real:
            raise Refusal("path_changed", param="source", path=str(path))

    @contextmanager
    def opened(self, path: Path) -> Iterator[BinaryIO]:
        """A regular file, opened and then looked at: whatever happens to its path meanwhile, this is what was checked.

        Raises:
            Refusal: as `real`, or `not_a_model`.
            OSError: it cannot be opened.
        """
        real = self.real(path)
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refusal("not_a_model", param="source", path=str(path))
            self._must_be_inside(_whereabouts(descriptor, real), path)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                yield file
        finally:
            os.close(descriptor)

    def _must_be_inside(self, real: Path, path: Path) -> None:
        if not any(real.is_relative_to(root) for root in self._allowed):
            raise Refusal("path_outside_roots", param="source", path=str(path), roots=self._shown)


def _whereabouts(descriptor: int, real: Path) -> Path:
    """Where the opened file really lies (proc(5), /proc/PID/fd); elsewhere than on Linux nobody can be asked."""
    return Path(os.readlink(f"/proc/self/fd/{descriptor}")) if sys.platform == "linux" else real
