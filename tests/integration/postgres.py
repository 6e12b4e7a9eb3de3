"""A PostgreSQL cluster of our own for a test session: a temporary directory, a free port, gone at the end.

Debian's package `postgresql` brings the programs. PostgreSQL refuses to run as root, so root becomes `postgres`,
the user of that package.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"
FAST_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=50")


def programs() -> Path:
    """The folder of initdb and postgres; a machine without them fails the test and says what to install."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path is None:
        raise RuntimeError("PostgreSQL is not installed: apt-get install postgresql")
    return Path(on_path).resolve().parent


@contextmanager
def cluster() -> Iterator[str]:
    """Yield the URL of a running server, without the name of a database."""
    folder = Path(tempfile.mkdtemp(prefix="gpl-pg-"))
    _give_away(folder)
    data, bin_folder, port = folder / "data", programs(), _free_port()
    try:
        _run(bin_folder / "initdb", "-D", data, "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = " ".join([f"-h 127.0.0.1 -p {port} -k {folder}", *(f"-c {each}" for each in FAST_SETTINGS)])
        _run(bin_folder / "pg_ctl", "-D", data, "-w", "-t", "30", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://{USER}@127.0.0.1:{port}"
        finally:
            _run(bin_folder / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _give_away(folder: Path) -> None:
    if os.geteuid() == 0:
        account = pwd.getpwnam(USER)
        os.chown(folder, account.pw_uid, account.pw_gid)


def _run(*argv: str | Path) -> None:
    as_user = {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [str(each) for each in argv],
        cwd="/",
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if "start" not in argv else subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **as_user,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stdout}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
