"""Deletes what one holding has and nothing else needs. What another program fetched stays where it is."""

from collections.abc import Iterable
from pathlib import Path

from worker.downloads.manifest import Manifest
from worker.downloads.names import blob_of
from worker.downloads.shelf import Shelf


def remove(shelf: Shelf, manifest: Manifest, others: Iterable[Manifest]) -> None:
    """`others` are the holdings that have files in the same repository's folder.

    Raises:
        OSError: the disk says no.
    """
    kept = list(others)
    _remove_links(shelf, manifest, kept)
    needed = {blob_of(each.file, other.commit, other.hub) for other in kept for each in other.files} | _linked(shelf)
    for each in manifest.files:
        name = blob_of(each.file, manifest.commit, manifest.hub)
        if name not in needed:
            for path in (shelf.blob(name), shelf.partial(name), shelf.lock(name)):
                path.unlink(missing_ok=True)
    shelf.tidy()


def _remove_links(shelf: Shelf, manifest: Manifest, others: Iterable[Manifest]) -> None:
    """Through no link: a directory of the snapshot that leads elsewhere was not made here."""
    needed = {each.path for other in others if other.commit == manifest.commit for each in other.files}
    for each in manifest.files:
        link = shelf.link(each.path)
        if each.path not in needed and link.is_symlink() and _is_inside(link.parent, shelf.place):
            link.unlink()


def _linked(shelf: Shelf) -> set[str]:
    """Blobs that a snapshot still leads to, another program's included."""
    blobs = (shelf.place / "blobs").resolve()
    targets = (each.resolve() for each in shelf.all_links() if each.is_symlink())
    return {each.name for each in targets if each.parent == blobs}


def _is_inside(folder: Path, place: Path) -> bool:
    return folder.resolve().is_relative_to(place.resolve())
