"""How an engine is kept to itself: a directory, an account, a control group and limits of its own."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_lite.domain import Sentence
from gpustack_lite.settings import Settings
from worker.runtimes import control_group, engine_user
from worker.runtimes.control_group import Groups
from worker.runtimes.engine_user import EngineUser

RUNNER = Path(__file__).resolve().parents[1] / "runners" / "confined.py"
UMASK = 0o077
OPEN_FILES = 65_536
"""Engines hold a socket for each request; a core would hold prompts and keys."""
LONGEST_TMPDIR = 60
"""Engines make sockets below TMPDIR: sun_path has 108 bytes (unix(7)), and vLLM's names have some 40."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """`limits` are those of setrlimit(2) by name, `shared` those of a control group."""

    user: EngineUser | None = None
    groups: Groups = field(default_factory=Groups)
    limits: Mapping[str, int] = field(default_factory=lambda: {"CORE": 0, "NOFILE": OPEN_FILES})
    shared: Mapping[str, int] = field(default_factory=dict)

    def group(self, worker_uid: str, instance_id: int) -> Path | None:
        return self.groups.make(f"{group_prefix(worker_uid)}{instance_id}", self.shared)

    def argv(self, argv: Sequence[str], group: Path | None) -> tuple[str, ...]:
        """The engine's command line behind the program that confines it and then becomes it."""
        user = self.user
        who = None if user is None else {"uid": user.uid, "gid": user.gid, "groups": list(user.groups)}
        rules = {
            "umask": UMASK,
            "limits": dict(self.limits),
            "user": who,
            "group": None if group is None else str(group),
        }
        return (sys.executable, "-I", "-S", str(RUNNER), json.dumps(rules), "--", *argv)


def group_prefix(worker_uid: str) -> str:
    return f"gpustack-lite-{worker_uid}-"


def of(settings: Settings) -> Confinement:
    """Raises:
    Refusal: what `engine_user.named` raises.
    """
    user = None if settings.engine_user is None else engine_user.named(settings.engine_user)
    limits = {"CORE": 0, "NOFILE": OPEN_FILES}
    if settings.engine_file_bytes is not None:
        limits["FSIZE"] = settings.engine_file_bytes
    shared = {"memory": settings.engine_ram_bytes, "pids": settings.engine_processes}
    groups = control_group.found()
    if settings.engine_processes is not None and "pids" not in groups.controllers and user is not None:
        limits["NPROC"] = settings.engine_processes
    return Confinement(user, groups, limits, {name: most for name, most in shared.items() if most is not None})


def missing(made: Confinement) -> tuple[Sentence, ...]:
    """What was asked for, or would be good, and cannot be had on this machine."""
    said = []
    if made.groups.base is None:
        said.append(Sentence("confinement_no_groups"))
    for name in sorted(set(made.shared) - made.groups.controllers):
        if not (name == "pids" and "NPROC" in made.limits):
            said.append(Sentence("confinement_no_limit", {"limit": _SETTINGS[name]}))
    return tuple(said)


_SETTINGS = {"memory": "engine_ram_bytes", "pids": "engine_processes"}


def private(workdir: Path) -> dict[str, str]:
    """Where an engine finds its home and its caches: in its working directory, which goes with it."""
    home = workdir / "home"
    made = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
    }
    tmp = workdir / "tmp"
    return made if len(str(tmp)) > LONGEST_TMPDIR else made | {"TMPDIR": str(tmp)}


def make_private(workdir: Path) -> None:
    """Its mode is set whatever it was; what an earlier attempt left in TMPDIR goes."""
    workdir.mkdir(mode=0o700, parents=True, exist_ok=True)
    workdir.chmod(0o700)
    shutil.rmtree(workdir / "tmp", ignore_errors=True)
    for name in ("home", "tmp"):
        (workdir / name).mkdir(mode=0o700, exist_ok=True)
