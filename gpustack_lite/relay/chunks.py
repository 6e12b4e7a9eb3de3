"""Chunks that come whole and plainly spelt, as nearly all of a stream's do: they need no parser.

Anything else (a part of a chunk, an extension, the last chunk, another spelling of a size) is left to the strict one.
"""

MOST_BYTES = 16 * 1024
_SIZES = {b"%x" % size: size for size in range(1, MOST_BYTES)}
_MOST_DIGITS = 4
_LINE_END = b"\r\n"


def payload(data: bytes) -> bytes | None:
    """What is in these chunks, if they are whole chunks and nothing else. `data` begins where a chunk does."""
    found, at = [], 0
    while at < len(data):
        line_end = data.find(_LINE_END, at, at + _MOST_DIGITS + 2)
        size = _SIZES.get(data[at:line_end])
        if line_end < 0 or size is None:
            return None
        stop = line_end + 2 + size
        at = stop + 2
        if data[stop:at] != _LINE_END:
            return None
        found.append(data[line_end + 2 : stop])
    return b"".join(found) if found else None
