"""Every sentence that a person reads: a code, its English and its Chinese text, both filled from the same params."""

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from gpustack_lite.domain import Params, Sentence
from gpustack_lite.messages import (
    api,
    audit,
    backend,
    cli,
    common,
    compatibility,
    devices,
    doctor,
    faults,
    files,
    gateway,
    help,
    holding,
    hub,
    lifecycle,
    mindie,
    oidc,
    people,
    planning,
    scheduler,
    secrets,
    server,
    versions,
    vllm,
    worker,
)

Language = Literal["en", "zh"]
_AREAS = (
    *(common, cli, help, server, api, gateway, files, worker, scheduler, backend, lifecycle, planning),
    *(audit, compatibility, devices, doctor, faults, holding, hub, mindie, oidc, people, secrets, versions, vllm),
)
CATALOGUE: Mapping[str, tuple[str, str]] = {code: pair for area in _AREAS for code, pair in area.SENTENCES.items()}
"""Code -> (English, Chinese). A code is defined in one area only; a test holds that."""

_UNITS = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LONGEST_VALUE = 400


def text(sentence: Sentence, language: Language = "en") -> str:
    """The sentence in one language. Params named `*_bytes` are written with a unit, control characters are replaced."""
    pair = CATALOGUE.get(sentence.code)
    if pair is None:
        return sentence.code
    template = pair[1] if language == "zh" else pair[0]
    return template.format_map(_Shown(sentence.params))


def localise(document: Any, language: Language) -> Any:
    """A copy in which every sentence has its text: `message` beside `code` and `params`, `state_message` for `said`."""
    if isinstance(document, list | tuple):
        return [localise(each, language) for each in document]
    if not isinstance(document, Mapping):
        return document
    result = {key: localise(value, language) for key, value in document.items()}
    if "code" in document and "params" in document:
        result["message"] = _message(document["code"], document["params"], language)
    if "said" in document:
        said = document["said"]
        result["state_message"] = _message(said["code"], said["params"], language) if said else None
    return result


def _message(code: str | None, params: Mapping[str, Any] | None, language: Language) -> str | None:
    return None if code is None else text(Sentence(code, params or {}), language)


class _Shown(dict[str, str]):
    def __init__(self, params: Params) -> None:
        super().__init__({key: _show(key, value) for key, value in params.items()})

    def __missing__(self, key: str) -> str:
        return "?"


def _show(key: str, value: object) -> str:
    if value is None:
        return "?"
    if key.endswith("_bytes") and isinstance(value, int | float):
        return size(value)
    shown = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value))
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"


def size(byte_count: float) -> str:
    """1536 -> "1.5 KiB"; binary units, as engines and npu-smi count."""
    for unit_bytes, unit in _UNITS:
        if abs(byte_count) >= unit_bytes:
            return f"{byte_count / unit_bytes:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{int(byte_count)} B"


def language_of(wanted: str | None) -> Language:
    """From an Accept-Language value or a POSIX locale name; English unless it starts with zh."""
    return "zh" if (wanted or "").strip().lower().startswith("zh") else "en"


def language_of_terminal() -> Language:
    for variable in ("GPUSTACK_LITE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return language_of(value)
    return "en"
