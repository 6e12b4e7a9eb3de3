"""What a model's spec must look like before anybody is asked about it; the first thing that does not is refused."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import available_timezones

from gpustack_lite.errors import Refusal
from gpustack_lite.hub import sources
from gpustack_lite.hub.sources import Source

LONGEST_NAME = 200
DEEPEST = 16
SUB_RESOURCES = frozenset({"instances", "start", "stop", "revisions", "rollback"})
"""Last segments that a name with slashes must not have, because /models/NAME/start means something else."""
_HAS_MEANING_IN_PATHS = frozenset("\\?#%")
_ENV_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,199}$")
OWN_ENV_PREFIX = "GPUSTACK_LITE_"


def check_name(name: str) -> None:
    """1 to 200 characters that can be printed, addressed in a path, and told from an id."""
    if not 1 <= len(name) <= LONGEST_NAME:
        raise Refusal("name_length", param="name", length=len(name), longest=LONGEST_NAME)
    if name.strip().isprintable() and name != name.strip():
        raise Refusal("name_outer_space", param="name", name=name)
    if not name.isprintable():  # no path may hold it either, whichever way it is encoded
        raise Refusal("name_unprintable", param="name", name=_printable(name))
    if found := _HAS_MEANING_IN_PATHS & set(name):
        raise Refusal("name_character", param="name", name=name, character=min(found))
    if name.isdigit():
        raise Refusal("name_only_digits", param="name", name=name)
    _check_segments(name)


def _check_segments(name: str) -> None:
    segments = name.split("/")
    if any(segment in {"", ".", ".."} for segment in segments):
        raise Refusal("name_segments", param="name", name=name)
    if len(segments) > 1 and segments[-1] in SUB_RESOURCES:
        raise Refusal("name_reserved", param="name", name=name, word=segments[-1])


def check_worker_name(name: str) -> None:
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip() or name.isdigit():
        raise Refusal("worker_name", param="name", longest=LONGEST_NAME)


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)


def check_source(source: str, revision: str | None, include: Sequence[str]) -> Source:
    """Well-formed, with what belongs to it; whether it can be launched is another question."""
    if not sources.is_remote(source):
        if revision is not None or include:
            raise Refusal("source_revision_without_hub", param="source_revision", source=source)
        return sources.parse(source)
    for pattern in include:
        _check_pattern(pattern)
    found = sources.repository(source)
    if found.revision is not None and revision is not None:
        raise Refusal("source_revision_twice", param="source_revision", source=source, revision=revision)
    return sources.repository(sources.question(source, revision, include))


def _check_pattern(pattern: str) -> None:
    if pattern.startswith("/") or ".." in pattern.split("/") or not pattern.isprintable() or "\\" in pattern:
        raise Refusal("include_invalid", param="include", pattern=_printable(pattern))


def check_env(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not _ENV_NAME.match(name):
            raise Refusal("env_name", param="env", name=_printable(name))
        if name.upper().startswith(OWN_ENV_PREFIX):
            raise Refusal("env_reserved", param="env", name=name)
        if "\0" in value:
            raise Refusal("env_value", param="env", name=name)


def check_timezone(name: str, param: str) -> None:
    """Days and months of a limit are those of a calendar that every gateway has."""
    if name not in available_timezones():
        raise Refusal("timezone_unknown", param=param, name=_printable(name))


def check_devices(devices: list[str]) -> None:
    for device in devices:
        worker, _, index = device.rpartition(":")
        if not worker or not (index.isascii() and index.isdigit()):
            raise Refusal("device_address", param="placement.devices", device=_printable(device))


def check_autoscale(least: int, most: int) -> None:
    if least == 0:
        raise Refusal("autoscale_from_zero", param="autoscale.min")
    if least > most:
        raise Refusal("autoscale_bounds", param="autoscale.max", min=least, max=most)


def check_plain(value: Any, name: str, depth: int = 0) -> None:
    """Only what every database and every JSON reader can hold: finite numbers, whole characters, bounded depth."""
    if depth > DEEPEST:
        raise Refusal("value_too_deep", param=name, name=name, deepest=DEEPEST)
    if isinstance(value, str):
        _check_text(value, name)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Refusal("value_not_finite", param=name, name=name)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Refusal("value_too_large", param=name, name=name)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _check_text(key, name)
            check_plain(each, f"{name}.{_printable(key)[:100]}", depth + 1)
    elif isinstance(value, list):
        for each in value:
            check_plain(each, name, depth + 1)


def _check_text(value: str, name: str) -> None:
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise Refusal("text_not_whole", param=name, name=name)
