import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.forms import Fields, FormReader

TYPE = b"multipart/form-data; boundary=b"
PATH = "/v1/audio/transcriptions"


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    file = "" if filename is None else f'; filename="{filename}"'
    return f'--b\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"


def read(*parts: bytes) -> Fields:
    reader = FormReader(TYPE, PATH)
    for piece in (*parts, b"--b--\r\n"):
        reader.feed(piece)
    return reader.end()


FILE = part("file", b"RIFFxxxx", "a.wav")
MODEL = part("model", b"tiny")


@pytest.mark.parametrize("parts", [(FILE, MODEL), (MODEL, FILE)], ids=["file first", "model first"])
def test_the_model_is_found_wherever_it_stands(parts: tuple[bytes, ...]) -> None:
    form, body = read(*parts), b"".join(parts)
    assert form.model == "tiny"
    assert body[form.model_start : form.model_end] == b"tiny"
    start, new, end = form.splice("other name")
    assert body[:start] + new + body[end:] == body.replace(b"\r\ntiny\r\n", b"\r\nother name\r\n")
    assert form.splice("tiny") == (0, b"", 0)


@pytest.mark.parametrize(
    ("value", "is_stream"), [(b"true", True), (b"True", True), (b"1", True), (b"false", False), (b"", False)]
)
def test_a_stream_is_recognised(value: bytes, is_stream: bool) -> None:
    assert read(MODEL, part("stream", value)).is_stream is is_stream


@pytest.mark.parametrize(
    ("parts", "code", "param"),
    [
        pytest.param((FILE,), "model_missing", "model", id="no model"),
        pytest.param((part("model", b""),), "model_missing", "model", id="an empty model"),
        pytest.param((MODEL, FILE, MODEL), "form_repeats_field", "model", id="two models"),
        pytest.param((MODEL, part("stream", b"0"), part("stream", b"1")), "form_repeats_field", "stream", id="streams"),
        pytest.param((part("model", b"tiny", "m.txt"),), "form_field_is_file", "model", id="a file"),
        pytest.param((part("model", b"x" * 1025),), "form_field_too_long", "model", id="a long name"),
        pytest.param((part("model", b"\xff"),), "body_not_utf8", None, id="no UTF-8"),
    ],
)
def test_a_model_that_is_not_clear_is_refused(parts: tuple[bytes, ...], code: str, param: str | None) -> None:
    with pytest.raises(Refusal, match=code) as refused:
        read(*parts)
    assert (refused.value.status, refused.value.param) == (400, param)


@pytest.mark.parametrize("content_type", [b"application/json", b"", b"text/plain"])
def test_what_is_no_form_is_told_what_is_wanted(content_type: bytes) -> None:
    with pytest.raises(Refusal, match="form_wanted") as refused:
        FormReader(content_type, PATH)
    assert refused.value.status == 415
