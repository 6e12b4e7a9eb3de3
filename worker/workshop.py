"""What every instance of a worker shares to do its work."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from backends.mindie_install import SERVER
from gpustack_lite.domain import BackendVersion
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings
from worker import engines, found_engines
from worker.adoption import Records
from worker.builds import Builds
from worker.containers import Containers
from worker.devices.detect import Inventory
from worker.downloads.store import Store
from worker.files import Files
from worker.logs import Logs
from worker.ports_range import PortRange
from worker.probe import EngineClient
from worker.runtimes.confinement import Confinement

RUNNER_DIR = Path(__file__).resolve().parent / "runners"


@dataclass(frozen=True)
class Workshop:
    settings: Settings
    ports: Ports
    data_dir: Path
    worker_uid: str
    records: Records
    logs: Logs
    port_range: PortRange
    client: EngineClient
    files: Files
    store: Store
    builds: Builds
    containers: Containers
    inventory: Callable[[], Inventory]
    """What was seen last; blocks for the first look only."""
    look: Callable[[], Inventory]
    """A look of now: it runs programs."""
    confinement: Confinement = field(default_factory=Confinement)

    @cached_property
    def _on_path(self) -> tuple[BackendVersion, ...]:
        mindie = found_engines.mindie(self.settings.ascend_root, os.environ, shutil.which(SERVER))
        return (*engines.find_on_path(self.ports), *mindie, *found_engines.vllm(shutil.which("vllm")))

    def engines_on_path(self) -> tuple[BackendVersion, ...]:
        """Asked once per start of the worker: it runs the engine to learn its version."""
        return self._on_path

    def is_installed(self, version: BackendVersion) -> bool:
        if version.recipe is not None and version.source != "path":
            return self.builds.is_ready(version)
        return engines.installed(version, self.data_dir, self.ports) is not None

    def would_be_at(self, version: BackendVersion) -> Path:
        return engines.folder_of(version, self.data_dir) / "bin" / "python"
