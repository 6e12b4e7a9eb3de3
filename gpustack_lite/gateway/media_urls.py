"""Addresses of pictures, sounds and videos in a request: an engine would fetch them, from wherever it stands.

Whoever may ask a model could make it ask the metadata service of a cloud, or read a file. So content is sent along
(`data:` with base64), and an address is passed on only where `media_hosts` names its host.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.jsonspans import Bytes

_SIGNS = (b"_url", b'"url"', b"\\u00")
"""The last begins every way to spell a letter of ASCII in another way."""
_KEYS = frozenset({"image_url", "video_url", "audio_url", "file_url", "input_image", "input_video", "input_audio"})
_SPARED = frozenset({"tools", "functions", "response_format", "metadata"})
"""Whose members no engine fetches: schemas may well describe an `image_url`."""
_DATA = re.compile(r"data:[A-Za-z0-9.+/-]{1,100}(;[A-Za-z0-9.+=-]{1,100}){0,4},", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?)(:(?P<port>[0-9]{1,5}))?"
    r"(/[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*)?"
)
"""Stricter than any parser, so that none reads another host: no user name, no backslash, no brackets."""
_PORTS = {"http": 80, "https": 443}
_SHOWN = 200


class Host(NamedTuple):
    scheme: str
    host: str
    port: int


def may_name(body: Bytes) -> bool:
    """Whether it is worth reading: false for nearly all that is text only."""
    return any(sign in body for sign in _SIGNS)


def check(body: Bytes, allowed: Collection[Host]) -> None:
    """What cannot be read here is not passed on to somebody who may read it.

    Raises:
        Refusal: `media_url_refused` or `body_not_json`.
    """
    if not may_name(body):
        return
    try:
        content = json.loads(bytes(body).decode("utf-8"), object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise Refusal("body_not_json", why=str(error)) from error
    for field, found in _addresses(content):
        if not _is_allowed(found, allowed):
            raise Refusal("media_url_refused", param=field, field=field, address=found[:_SHOWN])


def hosts(named: Iterable[str]) -> frozenset[Host]:
    """Of the setting `media_hosts`: a host and host:port (https), or scheme://host:port.

    Raises:
        Refusal: `bad_setting`.
    """
    return frozenset(_host(each) for each in named)


class _Pairs(list[tuple[str, Any]]):
    """An object with all its members: of a key that stands there twice nobody knows which one an engine takes."""


def _addresses(content: object) -> Iterator[tuple[str, str]]:
    """Not by recursion: a body may be nested as deep as its parser allows."""
    rest = [("", key, value) for key, value in content if key not in _SPARED] if isinstance(content, _Pairs) else []
    while rest:
        field, key, value = rest.pop()
        where = f"{field}.{key}" if field else key
        if isinstance(value, _Pairs):
            if key in _KEYS or ("type", "url") in value:
                yield from ((f"{where}.url", text) for name, text in value if name == "url" and isinstance(text, str))
            rest.extend((where, name, inner) for name, inner in value)
        elif isinstance(value, list):
            rest.extend((field, f"{key}[{place}]", inner) for place, inner in enumerate(value))
        elif isinstance(value, str) and key in _KEYS:
            yield where, value


def _is_allowed(address: str, allowed: Collection[Host]) -> bool:
    if _DATA.match(address):
        return True
    match = _ADDRESS.fullmatch(address)
    return match is not None and _of(match) in allowed


def _host(said: str) -> Host:
    match = _ADDRESS.fullmatch(said if "://" in said else f"https://{said}")
    if match is None:
        raise Refusal("bad_setting", name="media_hosts", why=said[:_SHOWN])
    return _of(match)


def _of(match: re.Match[str]) -> Host:
    scheme = match["scheme"]
    return Host(scheme, match["host"].lower(), int(match["port"] or _PORTS[scheme]))
