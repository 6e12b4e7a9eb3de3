"""The fields of a form that the gateway must know, wherever they stand among the parts; everything else only passes."""

from typing import NamedTuple

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import media
from gpustack_lite.multipart import End, Event, Part, Reader, boundary_of

PATHS = frozenset({"/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits", "/v1/images/variations"})
"""They take a form; every other path takes JSON."""
FIELD_BYTES = 1024
_FIELDS = frozenset({"model", "stream"})
_TRUE = frozenset({"true", "1", "on", "t", "yes", "y"})
"""What pydantic, and so most engines, take for true."""


class Fields(NamedTuple):
    """`model_start` and `model_end` say where its value stands in the body."""

    model: str
    model_start: int
    model_end: int
    is_stream: bool
    audio_seconds: float | None
    """Of a WAV file, by its own header."""

    def splice(self, name: str) -> tuple[int, bytes, int]:
        """Up to the first number of the body, then these bytes, then the body from the second number on."""
        if name == self.model:
            return 0, b"", 0
        return self.model_start, name.encode(), self.model_end


class _Value:
    """One plain field, or the beginning of the file."""

    def __init__(self, part: Part, most_bytes: int) -> None:
        self.part = part
        self.end = part.start
        self.content = b""
        self._most_bytes = most_bytes

    def add(self, piece: bytes) -> None:
        room = self._most_bytes - len(self.content)
        if room > 0:
            self.content += piece[:room]


class FormReader:
    """Fed with the body as it comes; `end` answers with what was found.

    Raises:
        Refusal: what multipart.Reader raises; `form_wanted` (415), `form_repeats_field`, `form_field_is_file`,
            `form_field_too_long`, `model_missing`, `body_not_utf8`.
    """

    def __init__(self, content_type: bytes, path: str) -> None:
        if content_type.partition(b";")[0].strip().lower() != b"multipart/form-data":
            raise Refusal("form_wanted", status=415, path=path)
        self._reader = Reader(boundary_of(content_type))
        self._fields: dict[str, _Value] = {}
        self._file: _Value | None = None
        self._open: _Value | None = None

    def feed(self, data: bytes) -> None:
        for event in self._reader.feed(data):
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, Part):
            self._open = self._begin(event)
        elif self._open is None:
            return
        elif isinstance(event, End):
            self._finish(self._open, event.at)
        else:
            self._open.add(event)

    def _begin(self, part: Part) -> _Value | None:
        if part.name in _FIELDS:
            return self._field(part)
        if part.name == "file" and part.filename is not None and self._file is None:
            self._file = _Value(part, media.WAV_HEAD_BYTES)
            return self._file
        return None

    def _field(self, part: Part) -> _Value:
        if part.name in self._fields:
            raise Refusal("form_repeats_field", param=part.name, name=part.name)
        if part.filename is not None:
            raise Refusal("form_field_is_file", param=part.name, name=part.name)
        self._fields[part.name] = value = _Value(part, FIELD_BYTES)
        return value

    def _finish(self, value: _Value, end: int) -> None:
        value.end = end
        if value is not self._file and end - value.part.start > FIELD_BYTES:
            raise Refusal("form_field_too_long", param=value.part.name, name=value.part.name, limit_bytes=FIELD_BYTES)
        self._open = None

    def end(self) -> Fields:
        self._reader.end()
        model = self._fields.get("model")
        if model is None or not model.content:
            raise Refusal("model_missing", param="model")
        return Fields(_text(model), model.part.start, model.end, self._is_stream(), self._audio_seconds())

    def _is_stream(self) -> bool:
        value = self._fields.get("stream")
        return value is not None and value.content.strip().lower().decode("latin-1") in _TRUE

    def _audio_seconds(self) -> float | None:
        file = self._file
        return None if file is None else media.wav_seconds(file.content, file.end - file.part.start)


def _text(value: _Value) -> str:
    try:
        return value.content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal("body_not_utf8", position=value.part.start + error.start) from error
