"""Where MindIE's files lie beside its daemon, and how the daemon is started in its environment.

Two layouts. A service: ASCEND/mindie/VERSION/mindie-service/{bin/mindieservice_daemon,conf/config.json}. A package: in
an environment of Python, bin/mindie_llm_server and site-packages/mindie_llm/conf/config.json.
"""

from pathlib import PurePath
from typing import NamedTuple

from backends.sourcing import CANN, sourced
from gpustack_lite.domain import BackendVersion

DAEMON = "mindieservice_daemon"
SERVER = "mindie_llm_server"
ASCEND = PurePath("/usr/local/Ascend")
SET_ENV = (*CANN, "atb-models/set_env.sh", "mindie/set_env.sh")
"""Below the CANN root, in the order in which the documentation sources them."""
_PYTHONS = ("3.10", "3.11", "3.12")


class Install(NamedTuple):
    program: PurePath

    @classmethod
    def of(cls, version: BackendVersion) -> "Install":
        """The daemon that was found, or the server beside the Python of its environment."""
        executable = PurePath(version.executable or DAEMON)
        return cls(executable if executable.name in {DAEMON, SERVER} else executable.with_name(SERVER))

    @property
    def is_service(self) -> bool:
        return self.program.name == DAEMON

    @property
    def root(self) -> PurePath:
        """MIES_INSTALL_PATH of a service; the environment of a package."""
        return self.program.parent.parent

    @property
    def ascend(self) -> PurePath:
        parents = self.root.parents
        return parents[2] if self.is_service and len(parents) > 3 and parents[1].name == "mindie" else ASCEND

    @property
    def configs(self) -> tuple[str, ...]:
        if self.is_service:
            return (str(self.root / "conf" / "config.json"),)
        packages = (self.root / "lib" / f"python{each}" / "site-packages" for each in _PYTHONS)
        return tuple(str(each / "mindie_llm" / "conf" / "config.json") for each in packages)

    @property
    def set_env(self) -> tuple[str, ...]:
        own = (self.root / "set_env.sh",) if self.is_service else ()
        return tuple(str(each) for each in (*(self.ascend / name for name in SET_ENV), *own))

    def argv(self, kept: tuple[str, ...]) -> tuple[str, ...]:
        """`kept` are the names of the variables that the sourced files may not change."""
        return sourced((str(self.program),), self.set_env, kept, "mindie")
