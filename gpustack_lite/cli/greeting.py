"""What a person reads once everything runs."""

import json

from gpustack_lite.cli.datadir import DataDir
from gpustack_lite.cli.say import tell


def greet(url: str, data_dir: DataDir, *, is_worker_alone: bool) -> None:
    if is_worker_alone:
        tell("worker_runs", url=url)
    elif data_dir.password_file.exists():
        tell("platform_ready_first", url=url, path=str(data_dir.password_file))
    else:
        tell("platform_ready", url=url)


def has_joined(data_dir: DataDir) -> bool:
    """The worker writes its credential when the server has taken it in."""
    try:
        identity = json.loads((data_dir.root / "worker" / "identity.json").read_bytes())
    except (OSError, ValueError):
        return False
    return bool(identity.get("credential"))
