"""`gpustack-lite start` with the stand-ins of role.py for children."""

import argparse
import sys
from pathlib import Path

from gpustack_lite import settings
from gpustack_lite.cli.app import speaking_plainly
from gpustack_lite.cli.launch import supervise_platform
from gpustack_lite.ports import Ports

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--port", type=int)
    given = parser.parse_args()
    with speaking_plainly():
        supervise_platform(
            settings.load(data_dir=given.data_dir, port=given.port),
            Ports(),
            program=(sys.executable, str(Path(__file__).with_name("role.py"))),
            again=(sys.executable, *sys.argv),
        )
