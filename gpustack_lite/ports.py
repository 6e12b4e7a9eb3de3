"""Clock, randomness, network, disk and processes: the only doors to the machine, so that a simulation can stand in."""

import asyncio
import contextlib
import errno
import functools
import mmap
import os
import random
import secrets
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import psutil

P = TypeVar("P", bound=asyncio.BaseProtocol)


class Clock(Protocol):
    def monotonic(self) -> float: ...
    def wall(self) -> datetime: ...
    def unix(self) -> float:
        """The wall's time in seconds since 1970."""

    async def sleep(self, seconds: float) -> None: ...
    def pause(self, seconds: float) -> None:
        """Sleep in a thread that has no event loop."""


class Randomness(Protocol):
    def token(self, byte_count: int = 32) -> str: ...
    def unique_id(self) -> str: ...
    def uniform(self, low: float, high: float) -> float: ...


class Network(Protocol):
    async def connect(
        self, make: Callable[[], P], host: str, port: int, tls: ssl.SSLContext | None = None
    ) -> tuple[asyncio.Transport, P]: ...

    async def connect_unix(self, make: Callable[[], P], path: str) -> tuple[asyncio.Transport, P]: ...

    def addresses(self, host: str, port: int) -> list[str]:
        """What the name resolves to, in the order of preference. Blocks: not for an event loop's thread.

        Raises:
            OSError: it does not resolve.
        """


class Disk(Protocol):
    def read(self, path: Path) -> bytes | None:
        """The whole content, or None when there is no such file."""

    def replace(self, path: Path, content: bytes, mode: int = 0o600) -> None:
        """Atomically, and on the platter when it returns: write beside, fsync, rename, fsync the directory."""

    def append(self, path: Path, content: bytes) -> None:
        """Fsynced when it returns; created with mode 0600."""

    def remove(self, path: Path) -> None:
        """Durable when it returns; no error when there is nothing."""

    def names(self, directory: Path) -> list[str]:
        """The names in a directory, sorted; empty when there is no such directory."""

    def map(self, path: Path, size_bytes: int) -> mmap.mmap:
        """A new file of zeros in memory; mode 0600. Its blocks are reserved: writing cannot fail for want of them.

        Raises:
            OSError: there is no room, or the file exists.
        """


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be mistaken for a later one with the same pid."""

    pid: int
    start_ticks: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class Completed:
    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said within its deadline and its bound; `returncode` None: it did not end, or never began."""

    stdout: str = ""
    stderr: str = ""
    returncode: int | None = None
    ended_by: Literal["itself", "deadline", "bound", "not_started", "still_hanging"] = "itself"
    """`still_hanging`: an earlier run of the same program cannot be killed, so that no second one was started."""
    why: str = ""

    @property
    def text(self) -> str:
        """Both streams: tools disagree about which one an error belongs to."""
        return f"{self.stdout}\n{self.stderr}" if self.stderr.strip() else self.stdout


class Processes(Protocol):
    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        output: Path | None = None,
        pass_fds: Sequence[int] = (),
        new_session: bool = True,
        umask: int | None = None,
    ) -> Identity:
        """Start a child that inherits no descriptor but `pass_fds`; `output` takes stdout and stderr, appended.

        Raises:
            OSError: the program cannot be started.
        """

    def identify(self, pid: int) -> Identity | None: ...
    def is_alive(self, identity: Identity) -> bool:
        """True only for this very process; a zombie counts as dead."""

    def send(self, identity: Identity, signum: int) -> bool: ...
    async def wait(self, identity: Identity) -> int | None:
        """Until the process has ended. The exit code (negative: signal), or None where it is not our child."""

    def marked(self, variable: str, value: str) -> list[Identity]:
        """Every living process of this machine whose environment holds `variable=value`."""

    def values_of(self, variable: str) -> list[tuple[Identity, str]]:
        """Every living process of this machine whose environment holds `variable`, with its value."""

    def descendants(self, identity: Identity) -> list[Identity]: ...
    def session(self, leader: Identity) -> list[Identity]:
        """The living processes of the session that `leader` made, without itself.

        Empty when the leader's pid belongs to somebody else by now. Once the leader was reaped, its pid could in
        principle be given to a process that makes a session of its own: ask soon, or not at all.
        """

    def run(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float = 60) -> Completed: ...

    def ask(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        deadline_seconds: float = 20,
        most_bytes: int = 1 << 20,
    ) -> Answer:
        """Run a program that may hang, even in the kernel, or talk without end; it never raises and always returns.

        The caller waits for the deadline and a second at most. Blocks: not for an event loop's thread.
        """


class SystemClock:
    monotonic = staticmethod(time.monotonic)

    unix = staticmethod(time.time)

    def wall(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class SystemRandomness:
    def token(self, byte_count: int = 32) -> str:
        return secrets.token_urlsafe(byte_count)

    def unique_id(self) -> str:
        return str(uuid.uuid4())

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)  # noqa: S311  # jitter, not a secret


class SystemNetwork:
    async def connect(
        self, make: Callable[[], P], host: str, port: int, tls: ssl.SSLContext | None = None
    ) -> tuple[asyncio.Transport, P]:
        return await asyncio.get_running_loop().create_connection(make, host, port, ssl=tls)

    async def connect_unix(self, make: Callable[[], P], path: str) -> tuple[asyncio.Transport, P]:
        return await asyncio.get_running_loop().create_unix_connection(make, path)

    def addresses(self, host: str, port: int) -> list[str]:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError(errno.EINVAL, "not a host name") from error
        return list(dict.fromkeys(str(each[4][0]) for each in found))


class SystemDisk:
    def read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, path: Path, content: bytes, mode: int = 0o600) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}.new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            os.fchmod(descriptor, mode)
            _write_all(descriptor, content)
            os.fsync(descriptor)
            beside.rename(path)
        except OSError:
            beside.unlink(missing_ok=True)  # on a full disk it would take the last bytes
            raise
        finally:
            os.close(descriptor)
        _sync_directory(path.parent)

    def append(self, path: Path, content: bytes) -> None:
        is_new = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            _sync_directory(path.parent)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        _sync_directory(path.parent)

    def names(self, directory: Path) -> list[str]:
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            return []

    def map(self, path: Path, size_bytes: int) -> mmap.mmap:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _reserve(descriptor, size_bytes)
            return mmap.mmap(descriptor, size_bytes)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def _reserve(descriptor: int, size_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size_bytes)
    else:
        _write_all(descriptor, bytes(size_bytes))


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class SystemProcesses:
    """Linux first: /proc and pidfds. Elsewhere psutil answers what it can."""

    def __init__(self) -> None:
        self._boot_id = _boot_id()
        self._exit_codes: dict[int, int] = {}
        self._hanging: list[tuple[str, subprocess.Popen[bytes]]] = []

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        output: Path | None = None,
        pass_fds: Sequence[int] = (),
        new_session: bool = True,
        umask: int | None = None,
    ) -> Identity:
        with contextlib.ExitStack() as stack:
            target: Any = None
            if output is not None:
                descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                stack.callback(os.close, descriptor)
                target = descriptor
            child = subprocess.Popen(
                list(argv),
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=target,
                pass_fds=tuple(pass_fds),
                start_new_session=new_session,
                umask=-1 if umask is None else umask,
            )
        identity = Identity(child.pid, _start_ticks(child.pid) or 0, self._boot_id)
        child.returncode = 0  # `wait` below reaps it; Popen must neither wait for it nor warn
        return identity

    def identify(self, pid: int) -> Identity | None:
        ticks = _start_ticks(pid)
        return None if ticks is None else Identity(pid, ticks, self._boot_id)

    def is_alive(self, identity: Identity) -> bool:
        if identity.boot_id != self._boot_id or _start_ticks(identity.pid) != identity.start_ticks:
            return False
        return _lives(identity.pid)

    def send(self, identity: Identity, signum: int) -> bool:
        """Through a pidfd where the system has them: between the check and the signal the pid cannot change hands."""
        if not hasattr(os, "pidfd_open"):
            return self._send_by_pid(identity, signum)
        try:
            descriptor = os.pidfd_open(identity.pid)
        except OSError:
            return False
        try:
            if not self.is_alive(identity):
                return False
            signal.pidfd_send_signal(descriptor, signum)
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)
        return True

    def _send_by_pid(self, identity: Identity, signum: int) -> bool:
        if not self.is_alive(identity):
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(identity.pid, signum)
            return True
        return False

    async def wait(self, identity: Identity) -> int | None:
        while self.is_alive(identity):
            await _until_readable_pidfd(identity.pid, at_most=1.0)
        return self._reap(identity.pid)

    def _reap(self, pid: int) -> int | None:
        if pid not in self._exit_codes:
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                return None
            if done == 0:
                return None
            self._exit_codes[pid] = os.waitstatus_to_exitcode(status)
        return self._exit_codes.pop(pid)

    def marked(self, variable: str, value: str) -> list[Identity]:
        wanted = f"{variable}={value}".encode()
        return [each for pid in psutil.pids() if wanted in _environment(pid) and (each := self.identify(pid))]

    def values_of(self, variable: str) -> list[tuple[Identity, str]]:
        prefix = f"{variable}=".encode()
        found = []
        for pid in psutil.pids():
            values = [each[len(prefix) :] for each in _environment(pid) if each.startswith(prefix)]
            if values and (identity := self.identify(pid)) and self.is_alive(identity):
                found.append((identity, values[0].decode(errors="replace")))
        return found

    def session(self, leader: Identity) -> list[Identity]:
        now = self.identify(leader.pid)
        if leader.boot_id != self._boot_id or (now is not None and now != leader):
            return []
        members = [
            each
            for pid in psutil.pids()
            if pid != leader.pid and _session_of(pid) == leader.pid and (each := self.identify(pid))
        ]
        return [each for each in members if each.start_ticks >= leader.start_ticks and self.is_alive(each)]

    def descendants(self, identity: Identity) -> list[Identity]:
        if not self.is_alive(identity):
            return []
        try:
            children = psutil.Process(identity.pid).children(recursive=True)
        except psutil.Error:
            return []
        return [each for child in children if (each := self.identify(child.pid))]

    def run(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float = 60) -> Completed:
        done = subprocess.run(
            list(argv),
            env=None if env is None else dict(env),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    def ask(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        deadline_seconds: float = 20,
        most_bytes: int = 1 << 20,
    ) -> Answer:
        if self._is_still_hanging(argv[0]):
            return Answer(ended_by="still_hanging")
        try:
            child = subprocess.Popen(
                list(argv),
                env=None if env is None else dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Answer(ended_by="not_started", why=getattr(error, "strerror", None) or str(error))
        with child.stdout or contextlib.nullcontext(), child.stderr or contextlib.nullcontext():
            said = _Listening(child, time.monotonic() + deadline_seconds, most_bytes)
            said.listen()
        if not _ended(child):
            self._hanging.append((argv[0], child))
        return said.answer()

    def _is_still_hanging(self, program: str) -> bool:
        self._hanging = [(name, child) for name, child in self._hanging if child.poll() is None]
        return any(name == program for name, _ in self._hanging)


class _Listening:
    """Reads both streams of a child until it has ended, its time is over or it has said too much."""

    def __init__(self, child: "subprocess.Popen[bytes]", ends_at: float, most_bytes: int) -> None:
        self._child = child
        self._ends_at = ends_at
        self._rest_bytes = most_bytes
        self._said: dict[Any, bytearray] = {child.stdout: bytearray(), child.stderr: bytearray()}
        self._ended_by: Literal["itself", "deadline", "bound"] = "itself"

    def listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            for stream in self._said:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map() and self._ended_by == "itself":
                self._hear(selector)
        if self._ended_by == "itself" and not _ended(self._child, max(0.0, self._ends_at - time.monotonic())):
            self._ended_by = "deadline"  # it closed its streams and stays
        if self._ended_by != "itself":
            self._kill()

    def _hear(self, selector: selectors.BaseSelector) -> None:
        left = self._ends_at - time.monotonic()
        ready = selector.select(min(left, 0.5)) if left > 0 else []
        for key, _ in ready:
            if chunk := os.read(key.fd, 1 << 16):
                self._keep(key.fileobj, chunk)
            else:
                selector.unregister(key.fileobj)
        if left <= 0:
            self._ended_by = "deadline"
        elif not ready and self._child.poll() is not None:
            for stream in list(selector.get_map().values()):  # it has ended; somebody else holds its pipe
                selector.unregister(stream.fileobj)

    def _keep(self, stream: Any, chunk: bytes) -> None:
        self._said[stream] += chunk[: self._rest_bytes]
        self._rest_bytes -= len(chunk)
        if self._rest_bytes < 0:
            self._ended_by = "bound"

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        _ended(self._child)

    def answer(self) -> Answer:
        texts = [said.decode("utf-8", errors="replace") for said in self._said.values()]
        code = self._child.returncode if self._ended_by == "itself" else None
        return Answer(texts[0], texts[1], code, self._ended_by)


def _ended(child: "subprocess.Popen[bytes]", seconds: float = 1.0) -> bool:
    """One that hangs in the kernel outlives even KILL."""
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return str(int(psutil.boot_time()))


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command name (proc(5)): state first, start time the twentieth."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


_NUM_THREADS = 17
"""Of the fields of /proc/PID/stat from the state on: proc(5) counts it as the 20th, the state as the 3rd."""


def _lives(pid: int) -> bool:
    """A process whose first thread has ended is no zombie while others run; it cannot be reaped either (wait(2))."""
    if sys.platform != "linux":
        return psutil.pid_exists(pid)
    fields = _stat_fields(pid)
    if not fields or fields[0] == "X":
        return False
    return fields[0] != "Z" or int(fields[_NUM_THREADS]) > 1


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (OSError, AttributeError):
        return None


def _start_ticks(pid: int) -> int | None:
    if sys.platform == "linux":
        fields = _stat_fields(pid)
        return int(fields[19]) if fields else None
    try:
        return int(psutil.Process(pid).create_time() * 100)
    except psutil.Error:
        return None


def _environment(pid: int) -> Iterable[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ()


async def _until_readable_pidfd(pid: int, at_most: float) -> None:
    """Wake when the process ends (pidfd), or after `at_most` seconds where there are no pidfds."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        await asyncio.sleep(min(at_most, 0.05))
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(at_most):
            await ended.wait()
    except TimeoutError:
        return
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


LONGEST_UNIX_PATH = 107
"""sun_path holds 108 bytes with its final zero (unix(7))."""


def short_unix_path(path: Path) -> str:
    """A name of the same socket that fits into sun_path, to connect or bind to; through an opened folder if need be."""
    if len(os.fsencode(path)) <= LONGEST_UNIX_PATH or sys.platform != "linux":
        return str(path)
    return f"/proc/self/fd/{_opened_folder(path.parent)}/{path.name}"


@functools.cache
def _opened_folder(path: Path) -> int:
    """Stays open: the name that was made of it must stay good."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@dataclass(frozen=True, slots=True)
class Ports:
    """What production code is handed instead of reaching out itself."""

    clock: Clock = field(default_factory=SystemClock)
    randomness: Randomness = field(default_factory=SystemRandomness)
    network: Network = field(default_factory=SystemNetwork)
    disk: Disk = field(default_factory=SystemDisk)
    processes: Processes = field(default_factory=SystemProcesses)
