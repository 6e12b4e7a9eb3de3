"""The RouteTable's copy on disk, so that a gateway that starts while the server is dead serves on."""

import hashlib
import logging
from datetime import datetime
from pathlib import Path

import msgspec
from pydantic import ValidationError

from gpustack_lite.ports import Disk
from gpustack_lite.wire import RoutesReply

log = logging.getLogger(__name__)
FOR_EVER_SECONDS = 1e18


class Saved(msgspec.Struct, frozen=True):
    """When the server last confirmed `routes`: by this machine's boot and its monotonic clock, and by the wall.

    `gateways` and `spent` are what GatewayOrders said last, for a start without a server.
    """

    boot_id: str
    monotonic: float
    wall: datetime
    routes: str
    gateways: int = 1
    spent: dict[str, dict[str, int]] = {}


class _File(msgspec.Struct):
    sha256: str
    content: str


class Damaged(ValueError):
    """The copy is not what was written."""


_file = msgspec.json.Decoder(_File)
_saved = msgspec.json.Decoder(Saved)


def encode(saved: Saved) -> bytes:
    content = msgspec.json.encode(saved)
    return msgspec.json.encode(_File(hashlib.sha256(content).hexdigest(), content.decode("utf-8")))


def decode(data: bytes) -> tuple[Saved, RoutesReply]:
    """
    Raises:
        Damaged: cut, altered, or written by a program that we do not understand.
    """
    try:
        file = _file.decode(data)
        content = file.content.encode("utf-8")
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise Damaged("the checksum differs")
        saved = _saved.decode(content)
        return saved, RoutesReply.model_validate_json(saved.routes)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValidationError) as error:
        raise Damaged(str(error).splitlines()[0]) from error


def age_seconds(saved: Saved, *, boot_id: str, monotonic: float, wall: datetime) -> float:
    """By the monotonic clock within one boot, else by the wall; a clock that was put back says nothing: for ever."""
    if saved.boot_id == boot_id:
        return max(0.0, monotonic - saved.monotonic)
    age = (wall - saved.wall).total_seconds()
    return age if age >= 0 else FOR_EVER_SECONDS


def load(disk: Disk, path: Path) -> tuple[Saved, RoutesReply] | None:
    """None when there is no good copy; a damaged one is said aloud and left where it is."""
    data = disk.read(path)
    if data is None:
        return None
    try:
        return decode(data)
    except Damaged as error:
        log.error("routes_copy_damaged", extra={"path": str(path), "why": str(error)})
        return None
