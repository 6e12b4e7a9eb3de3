"""One real gateway process for tests: `python gateway_run.py FD SOCKET DATA_DIR`."""

import sys
from pathlib import Path

from gpustack_lite import logs
from gpustack_lite.gateway.main import run
from gpustack_lite.ports import Ports
from gpustack_lite.settings import load

if __name__ == "__main__":
    logs.configure("info", process="gateway-0")
    run(
        load(),
        Ports(),
        listen_fd=int(sys.argv[1]),
        server_socket=Path(sys.argv[2]),
        data_dir=Path(sys.argv[3]),
        index=0,
        tls_fd=int(sys.argv[4]) if len(sys.argv) > 4 else None,
    )
