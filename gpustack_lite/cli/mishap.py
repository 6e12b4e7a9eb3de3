"""What a person sees of an exception that nobody expected: one sentence and the file that holds the traceback."""

import sys
import tempfile
import traceback
from pathlib import Path
from types import TracebackType

import platformdirs

from gpustack_lite.cli.say import complain


def confess(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An excepthook. The interpreter exits with 1 after it."""
    written = "".join(traceback.format_exception(kind, error, trace))
    try:
        complain("mishap", what=f"{kind.__name__}: {error}", path=str(_keep(written)))
    except OSError:
        sys.stderr.write(written)


def _keep(written: str) -> Path:
    try:
        return _write(Path(platformdirs.user_state_dir("gpustack-lite", appauthor=False)) / "cli-error.log", written)
    except OSError:
        return _write(Path(tempfile.mkdtemp(prefix="gpustack-lite-")) / "cli-error.log", written)


def _write(path: Path, written: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written, encoding="utf-8")
    return path
