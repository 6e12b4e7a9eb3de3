"""One meaning for every path: which plane it belongs to is decided on the very string that is sent on."""

import re
from functools import lru_cache
from urllib.parse import quote

from gpustack_lite.errors import Refusal

_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_FORBIDDEN_CODES = re.compile(rb"%(?:5c|00|0[0-9a-f]|1[0-9a-f]|7f|25)", re.IGNORECASE)
_ENCODED_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_ENCODED_DOT = re.compile(rb"%2e", re.IGNORECASE)
_TAKES_SLASHES = (b"/v1/models/", b"/v1-openai/models/", b"/api/v1/")
_KEPT = "/:@!$&'()*+,;=-._~"
ALIAS = "/v1-openai/"


@lru_cache(maxsize=1024)
def canonical(raw_path: bytes) -> str:
    """The decoded path. Names of models may hold slashes, so `%2F` is taken where a name may stand.

    Raises:
        Refusal: `path_not_canonical`, when programs could read the path in different ways.
    """
    if not raw_path.startswith(b"/") or b"//" in raw_path or b"\\" in raw_path:
        raise Refusal("path_not_canonical")
    if b"%" in raw_path:
        _refuse_tricks(raw_path)
        raw_path = _decoded(raw_path)
    try:
        path = raw_path.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal("path_not_canonical") from error
    if not path.isprintable() or "//" in path or "/./" in f"{path}/" or "/../" in f"{path}/":
        raise Refusal("path_not_canonical")
    return path


def _refuse_tricks(raw_path: bytes) -> None:
    if _PERCENT.search(raw_path) or _FORBIDDEN_CODES.search(raw_path) or _ENCODED_DOT.search(raw_path):
        raise Refusal("path_not_canonical")
    if _ENCODED_SLASH.search(raw_path) and not raw_path.startswith(_TAKES_SLASHES):
        raise Refusal("path_not_canonical")


def _decoded(raw_path: bytes) -> bytes:
    parts = raw_path.split(b"%")
    return parts[0] + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in parts[1:])


@lru_cache(maxsize=1024)
def encoded(path: str) -> bytes:
    """For the request line of whoever the request is sent on to."""
    return quote(path, safe=_KEPT).encode("ascii")


def without_alias(path: str) -> str:
    """GPUStack 0.x served the OpenAI API below /v1-openai."""
    return "/v1/" + path.removeprefix(ALIAS) if path.startswith(ALIAS) else path
