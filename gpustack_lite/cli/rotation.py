"""Keeps the logs of our own processes small: what is written in append mode can be copied away and cut in place."""

import shutil
from pathlib import Path


def rotate(path: Path, *, limit_bytes: int, kept: int) -> None:
    """`x.log` becomes `x.log.1`, that one `x.log.2` and so on, when it is larger than `limit_bytes`.

    Where there is no room for a copy there is none: a full disk needs the room more than anybody the old lines.
    """
    if not path.exists() or path.stat().st_size <= limit_bytes:
        return
    for number in range(kept, 1, -1):
        older = _numbered(path, number - 1)
        if older.exists():
            older.replace(_numbered(path, number))
    try:
        shutil.copyfile(path, _numbered(path, 1))
    except OSError:
        _numbered(path, 1).unlink(missing_ok=True)
    with path.open("r+b") as file:
        file.truncate()


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
