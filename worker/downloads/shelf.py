"""One repository's folder in the cache: what is written there stays inside it, whatever the hub calls its files."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpustack_lite.errors import Refusal
from worker.downloads.names import safe_path


@dataclass(frozen=True, slots=True)
class Shelf:
    """`root` is the cache, `folder` the repository's name in it, `commit` what was asked for."""

    root: Path
    folder: str
    commit: str

    @property
    def place(self) -> Path:
        return self.root / self.folder

    @property
    def snapshot(self) -> Path:
        return self.place / "snapshots" / self.commit

    def link(self, path: str) -> Path:
        return self.snapshot / safe_path(path)

    def blob(self, name: str) -> Path:
        return self.place / "blobs" / name

    def partial(self, name: str) -> Path:
        """Where Hugging Face's own client keeps what it has so far: either goes on where the other stopped."""
        return self.place / "blobs" / f"{name}.incomplete"

    def lock(self, name: str) -> Path:
        """The lock that Hugging Face's own client takes."""
        return self.root / ".locks" / self.folder / f"{name}.lock"

    def make_folders(self) -> None:
        """Raises:
        Refusal: `files_outside`.
        OSError: there is no room, or no right to write.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        for inner in (self.folder, f"{self.folder}/blobs", f".locks/{self.folder}"):
            _make_inside(self.root, inner)

    def put_link(self, path: str, target: Path) -> None:
        """`path` of the snapshot leads to `target`; what was there before is replaced in one step.

        Raises:
            Refusal: `files_bad_name` or `files_outside`.
        """
        link = self.link(path)
        _make_inside(self.root, str(link.parent.relative_to(self.root)))
        inside = target.is_relative_to(self.place)
        beside = link.with_name(f".{link.name[:200]}.{os.getpid()}.new")
        beside.unlink(missing_ok=True)
        beside.symlink_to(os.path.relpath(target, link.parent) if inside else target)
        beside.replace(link)

    def put_ref(self, revision: str) -> None:
        """So that Hugging Face's client finds the snapshot without a network."""
        ref = self.place / "refs" / safe_path(revision)
        _make_inside(self.root, str(ref.parent.relative_to(self.root)))
        if not ref.is_symlink():
            ref.write_text(self.commit, encoding="ascii")

    def all_links(self) -> Iterator[Path]:
        """Of every snapshot, not only of this commit's."""
        for folder, _, names in os.walk(self.place / "snapshots"):
            yield from (Path(folder) / name for name in names)

    def tidy(self) -> None:
        """Directories that hold nothing any more."""
        for folder, _, _ in os.walk(self.place, topdown=False):
            _remove_empty(Path(folder))
        _remove_empty(self.root / ".locks" / self.folder)


def existing(path: Path) -> Path:
    """The path, or what is there of the way to it."""
    return next(each for each in (path, *path.parents) if each.exists())


def regular(path: Path) -> os.stat_result | None:
    """What a path leads to, if that is a regular file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _make_inside(root: Path, inner: str) -> None:
    """One by one, and never through a link that somebody put in the way."""
    here = root
    for part in Path(inner).parts:
        here /= part
        here.mkdir(exist_ok=True)
        if not stat.S_ISDIR(here.lstat().st_mode):
            raise Refusal("files_outside", status=500, path=str(here))


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # it holds something
