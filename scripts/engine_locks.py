"""Writes backends/locks: what an engine's environment is made of, each file by its hash, for every version we tried.

python -m scripts.engine_locks
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from backends import registry
from gpustack_lite.domain import BackendVersion
from gpustack_lite.hub import uv
from worker.engines import LOCKS

_COMPILE = ("pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes", "--only-binary", ":all:")
_PLAIN = ("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--quiet")


def locked() -> Iterator[BackendVersion]:
    """What our installer makes unasked."""
    for name in registry.names():
        yield from (each for each in registry.find(name).versions() if each.requirement is not None)


def write(version: BackendVersion) -> None:
    with tempfile.TemporaryDirectory(prefix="locks-") as folder:
        wanted = Path(folder, "wanted.in")
        wanted.write_text("\n".join((version.requirement or "").split()) + "\n", encoding="utf-8")
        made = LOCKS / f"{version.backend}-{version.version}.lock"
        subprocess.run([uv.find_uv(), *_COMPILE, *_PLAIN, str(wanted), "--output-file", str(made)], check=True)


if __name__ == "__main__":
    for each in locked():
        write(each)
