"""Chunks that come whole and plainly spelt, as nearly all of a stream's do: they need no parser.

Anything else (a part of a chunk, an extension, the last chunk, another spelling of a size) is left to the strict one.
"""

MOST_BYTES = 16 * 1024
_SIZES = {b"%x" % size: size for size in range(1, MOST_BYTES)}
_MOST_DIGITS = 4
_LINE_END = b"\r\n"


def payload(data: bytes) -> bytes | None:
    """What is in these chunks, if they are whole chunks and nothing else. `data` begins where a chunk does."""
    start, stop = _first(data)
    if stop == len(data) and start:
        return data[start : stop - 2]
    return _several(data) if start else None


def _first(data: bytes, at: int = 0) -> tuple[int, int]:
    """Where its payload begins, and where the chunk behind it does; zeros when it is not plain, or not whole."""
    line_end = data.find(_LINE_END, at, at + _MOST_DIGITS + 2)
    start = line_end + 2
    size = _SIZES.get(data[at:line_end], 0)
    stop = start + size + 2
    if line_end < 0 or not size or data[stop - 2 : stop] != _LINE_END:
        return 0, 0
    return start, stop


def _several(data: bytes) -> bytes | None:
    found, at = [], 0
    while at < len(data):
        start, stop = _first(data, at)
        if not start:
            return None
        found.append(data[start : stop - 2])
        at = stop
    return b"".join(found)
