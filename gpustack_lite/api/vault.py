"""Where the key comes from that secrets are sealed with: the environment, a file it names, or a file of our own.

Our own is made at the first start, 0600, in the data dir. A database that holds secrets already is not given a new
key: it is the old one that is missing, and it may still be found.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_lite import sealing
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Disk, Ports
from gpustack_lite.sealing import Keyring
from gpustack_lite.settings import Settings

KEY_FILE = "secret_key"
VARIABLE = "GPUSTACK_LITE_SECRET_KEY"


@dataclass(slots=True)
class Vault:
    """`path` is our own file, None where somebody else keeps the key."""

    ring: Keyring = field(default_factory=Keyring)
    path: Path | None = None
    turning: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the key is replaced: two at once would each throw the other's away."""

    def keep(self, disk: Disk, path: Path, texts: tuple[str, ...]) -> None:
        """Use these keys from now on, the first to seal; on disk before they are used."""
        ring = sealing.keyring(texts, str(path))
        disk.replace(path, "".join(f"{each}\n" for each in texts).encode())
        self.ring = ring


def open_vault(settings: Settings, ports: Ports, data_dir: Path, *, has_secrets: bool) -> Vault:
    """Raises:
    Refusal: `secret_key_malformed`, or `secret_key_unreadable` for a file that was named.
    """
    if settings.secret_key is not None:
        return Vault(sealing.keyring(settings.secret_key.get_secret_value().split(","), VARIABLE))
    if settings.secret_key_file is not None:
        return Vault(sealing.keyring(_lines(ports.disk, settings.secret_key_file), str(settings.secret_key_file)))
    path = data_dir / KEY_FILE
    own = Vault(path=path)
    if texts := texts_of(ports.disk, path):
        own.ring = sealing.keyring(texts, str(path))
    elif not has_secrets:
        own.keep(ports.disk, path, (sealing.new_key(ports.randomness),))
    return own


def _lines(disk: Disk, path: Path) -> list[str]:
    try:
        content = disk.read(path)
    except OSError as error:
        raise Refusal("secret_key_unreadable", status=500, path=str(path), why=error.strerror) from error
    if content is None:
        raise Refusal("secret_key_unreadable", status=500, path=str(path), why="there is no such file")
    return _text(content)


def _text(content: bytes) -> list[str]:
    return content.decode("ascii", "replace").split()


def texts_of(disk: Disk, path: Path) -> tuple[str, ...]:
    return tuple(_text(disk.read(path) or b""))
