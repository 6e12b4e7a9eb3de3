"""`gpustack-lite start` with the stand-ins of role.py for children: `python supervise.py DATA_DIR PORT`."""

import sys
from pathlib import Path

from gpustack_lite import settings
from gpustack_lite.cli.app import speaking_plainly
from gpustack_lite.cli.launch import supervise_platform
from gpustack_lite.ports import Ports

if __name__ == "__main__":
    with speaking_plainly():
        supervise_platform(
            settings.load(data_dir=Path(sys.argv[1]), port=int(sys.argv[2])),
            Ports(),
            program=(sys.executable, str(Path(__file__).with_name("role.py"))),
            again=(sys.executable, *sys.argv),
        )
