"""A worker in a process of its own, for tests: run by path with SOCKET, DATA_DIR and TOKEN ("-" for none)."""

import sys
from pathlib import Path

from gpustack_lite import logs, messages, settings
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports
from worker.main import run


def main() -> int:
    socket, data_dir, token = sys.argv[1:4]
    logs.configure("debug", process="worker")
    try:
        run(
            settings.load(data_dir=Path(data_dir)),
            Ports(),
            server_socket=Path(socket),
            server_url=None,
            join_token=None if token == "-" else token,
            data_dir=Path(data_dir),
        )
    except Refusal as refusal:
        print(messages.text(refusal.sentence), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
