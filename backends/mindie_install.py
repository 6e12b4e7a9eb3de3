"""Where MindIE's files lie beside its daemon, and how the daemon is started in its environment.

Two layouts. A service: ASCEND/mindie/VERSION/mindie-service/{bin/mindieservice_daemon,conf/config.json}. A package: in
an environment of Python, bin/mindie_llm_server and site-packages/mindie_llm/conf/config.json.
"""

from pathlib import PurePath
from typing import NamedTuple

from gpustack_lite.domain import BackendVersion

DAEMON = "mindieservice_daemon"
SERVER = "mindie_llm_server"
ASCEND = PurePath("/usr/local/Ascend")
SET_ENV = ("ascend-toolkit/set_env.sh", "nnal/atb/set_env.sh", "atb-models/set_env.sh", "mindie/set_env.sh")
"""Below the CANN root, in the order in which the documentation sources them."""
_PYTHONS = ("3.10", "3.11", "3.12")

UNSET = "ASCEND_RT_VISIBLE_DEVICES NPU_VISIBLE_DEVICES NPU_DEVICE_IDS WORLD_SIZE RANK_TABLE_FILE RANKTABLEFILE"
"""Of whoever started the worker: npuDeviceIds name the cards, and a filter would number them anew."""
WRAPPER = f"""\
gl_program=$1 gl_names=$2; shift 2; gl_files=("$@"); set --
gl_kept=(); for gl_each in $gl_names; do gl_kept+=("$gl_each=${{!gl_each}}"); done
for gl_each in "${{gl_files[@]}}"; do if [ -r "$gl_each" ]; then . "$gl_each"; fi; done
unset {UNSET}
for gl_each in "${{gl_kept[@]}}"; do export "$gl_each"; done
exec "$gl_program"
"""
"""Sources the files in its own shell, then sets what was decided again, since they set some of it too. The files see no
arguments: atb's reads them; and no name of ours that theirs might take. Nothing of a user's is part of the script.
"""


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
        return ("/bin/bash", "-c", WRAPPER, "mindie", str(self.program), " ".join(kept), *self.set_env)
