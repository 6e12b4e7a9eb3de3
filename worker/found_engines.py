"""Engines that somebody installed on this machine: MindIE below the CANN root, and the environment of a `vllm`.

Nothing is run to learn a version: importing vLLM takes half a minute.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from backends.mindie_install import DAEMON, SERVER
from gpustack_lite.domain import BackendVersion, DeviceKind

LATEST = "latest"
_VERSION = re.compile(r"[0-9]+\.[0-9][0-9A-Za-z.+-]*")
_LONGEST_NOTE = 64 * 1024


def mindie(ascend_root: Path, environ: Mapping[str, str], path: str | None) -> tuple[BackendVersion, ...]:
    """By MIES_INSTALL_PATH, below the CANN root (`latest` first, each once), and `mindie_llm_server` at `path`."""
    said = environ.get("MIES_INSTALL_PATH")
    homes = [*([Path(said)] if said else []), *_services(ascend_root)]
    programs = [home / "bin" / DAEMON for home in homes] + ([Path(path)] if path else [])
    found: dict[Path, BackendVersion] = {}
    for program in programs:
        if program.is_file():
            found.setdefault(program.resolve(), _version(program.resolve()))
    return tuple({each.version: each for each in reversed(found.values())}.values())[::-1]


def vllm(path: str | None) -> tuple[BackendVersion, ...]:
    """The `vllm` at `path`, by the packages of its environment: vLLM-Ascend where the plugin is beside it."""
    packages = _packages(Path(path)) if path else {}
    if path is None or "vllm" not in packages:
        return ()
    ascend, plain = packages.get("vllm_ascend"), packages["vllm"]
    kind = "ascend" if ascend else _KINDS.get(plain.partition("+")[2][:4], "cuda")
    return (
        BackendVersion(
            backend="vllm_ascend" if ascend else "vllm",
            version=f"path-{ascend or plain}",
            device_kinds=frozenset({kind}),
            source="path",
            installed=True,
            executable=str(Path(path).resolve()),
        ),
    )


_KINDS: Mapping[str, DeviceKind] = {"cpu": "cpu", "rocm": "rocm"}
"""Of a local version, such as 0.32.0+cpu."""


def _packages(script: Path) -> dict[str, str]:
    """Name -> version of those that concern us, in the environment whose Python the script's first line names."""
    first = _text(script.resolve()).partition("\n")[0]
    if not first.startswith("#!/"):
        return {}
    home = Path(first[2:].strip()).parents[1]
    notes = [
        each for names in ("vllm", "vllm_ascend") for each in home.glob(f"lib/python3*/*-packages/{names}-*.dist-info")
    ]
    return {name: version for each in notes for name, _, version in (each.stem.partition("-"),)}


def _services(ascend_root: Path) -> list[Path]:
    try:
        versions = sorted((ascend_root / "mindie").iterdir(), reverse=True)
    except OSError:
        return []
    versions.sort(key=lambda folder: folder.name != LATEST)
    return [each / "mindie-service" for each in versions]


def _version(program: Path) -> BackendVersion:
    return BackendVersion(
        backend="mindie",
        version=f"path-{_noted(program) or 'unknown'}",
        device_kinds=frozenset({"ascend"}),
        source="path",
        installed=True,
        executable=str(program),
    )


def _noted(program: Path) -> str | None:
    """What version.info beside the service says, else the name of the version's own directory."""
    if program.name == SERVER:
        return _of_package(program)
    folder = program.parents[2]
    notes = [_text(path / "version.info").splitlines() for path in (program.parents[1], folder)]
    for line in (line for note in notes for line in note if "mindie" in line.lower()):
        if match := _VERSION.search(line):
            return match[0]
    match = _VERSION.search(folder.name)
    return match[0] if match else None


def _of_package(program: Path) -> str | None:
    """From the metadata of the package in the same environment."""
    notes = sorted(program.parents[1].glob("lib/python3*/site-packages/mindie_llm-*.dist-info/METADATA"))
    lines = [line for note in notes for line in _text(note).splitlines() if line.startswith("Version:")]
    return lines[0].partition(":")[2].strip() if lines else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST_NOTE).decode("utf-8", errors="replace")
    except OSError:
        return ""
