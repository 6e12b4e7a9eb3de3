"""The form of POST /v1/files: its fields are kept, its file is handed on in pieces; pure."""

from typing import NamedTuple

from gpustack_lite.errors import Refusal
from gpustack_lite.multipart import End, Event, Part, Reader, boundary_of

PURPOSES = ("assistants", "batch", "evals", "fine-tune", "user_data", "vision")
FIELD_BYTES = 1024
LEAST_SECONDS, MOST_SECONDS = 3600, 2_592_000
"""What OpenAI takes for expires_after."""
_ANCHOR, _SECONDS = "expires_after[anchor]", "expires_after[seconds]"


class Told(NamedTuple):
    filename: str
    purpose: str
    keep_seconds: int | None


class FileForm:
    """
    Raises:
        Refusal: what multipart.Reader raises; `form_repeats_field`, `form_field_not_file`, `form_field_missing`,
            `form_field_too_long`, `file_purpose_unknown`, `file_expiry_bad`.
    """

    def __init__(self, content_type: bytes) -> None:
        if content_type.partition(b";")[0].strip().lower() != b"multipart/form-data":
            raise Refusal("form_wanted", status=415, path="/v1/files")
        self._reader = Reader(boundary_of(content_type))
        self._fields: dict[str, bytes] = {}
        self._filename: str | None = None
        self._open: Part | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """The pieces of the file among this."""
        return [piece for event in self._reader.feed(data) if (piece := self._take(event))]

    def _take(self, event: Event) -> bytes:
        if isinstance(event, Part):
            self._begin(event)
        elif isinstance(event, End):
            self._open = None
        elif self._open is not None and self._open.name == "file":
            return event
        elif self._open is not None:
            self._add(self._open.name, event)
        return b""

    def _begin(self, part: Part) -> None:
        if part.name in self._fields or (part.name == "file" and self._filename is not None):
            raise Refusal("form_repeats_field", param=part.name, name=part.name)
        self._open = part
        if part.name != "file":
            self._fields[part.name] = b""
        elif part.filename is None:
            raise Refusal("form_field_not_file", param="file", name="file")
        else:
            self._filename = part.filename

    def _add(self, name: str, piece: bytes) -> None:
        self._fields[name] += piece
        if len(self._fields[name]) > FIELD_BYTES:
            raise Refusal("form_field_too_long", param=name, name=name, limit_bytes=FIELD_BYTES)

    def end(self) -> Told:
        self._reader.end()
        if self._filename is None:
            raise Refusal("form_field_missing", param="file", name="file")
        purpose = self._fields.get("purpose", b"").decode("utf-8", "replace")
        if not purpose:
            raise Refusal("form_field_missing", param="purpose", name="purpose")
        if purpose not in PURPOSES:
            raise Refusal("file_purpose_unknown", param="purpose", purpose=purpose, purposes=", ".join(PURPOSES))
        return Told(_plain(self._filename), purpose, self._keep_seconds())

    def _keep_seconds(self) -> int | None:
        seconds = self._fields.get(_SECONDS)
        if seconds is None and _ANCHOR not in self._fields:
            return None
        text = (seconds or b"").decode("latin-1")
        is_number = text.isascii() and text.isdigit() and len(text) < 10
        if self._fields.get(_ANCHOR) != b"created_at" or not is_number:
            raise _bad_expiry()
        return checked_seconds(int(text))


def checked_seconds(seconds: int) -> int:
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise _bad_expiry()
    return seconds


def _bad_expiry() -> Refusal:
    return Refusal("file_expiry_bad", param="expires_after", least=LEAST_SECONDS, most=MOST_SECONDS)


def _plain(filename: str) -> str:
    """The last part of a path, without what no terminal should print."""
    name = filename.replace("\\", "/").rpartition("/")[2]
    return "".join(each for each in name if each.isprintable())[:255] or "file"
