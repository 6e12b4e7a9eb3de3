import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.errors import Refusal
from gpustack_lite.multipart import End, Event, Part, Reader, boundary_of

HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n'
BODY = HEAD + b'one\r\n--bx\r\n--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ntiny\r\n--b--\r\n'
GOOD = BODY.replace(b"\r\n--bx", b"\r\n--c")


def read(body: bytes, cuts: list[int] | None = None) -> list[Event]:
    reader, events = Reader(b"b"), []
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts or []), len(body)]
    for start, end in itertools.pairwise(places):
        events += reader.feed(body[start:end])
    reader.end()
    return events


def joined(events: list[Event]) -> list[tuple[Part, bytes, int]]:
    found: list[tuple[Part, bytes, int]] = []
    for event in events:
        if isinstance(event, Part):
            part, content = event, b""
        elif isinstance(event, End):
            found.append((part, content, event.at))
        else:
            content += event
    return found


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_however_it_is_cut_the_parts_are_the_same(cuts: list[int]) -> None:
    (file, content, end), (model, name, name_end) = joined(read(GOOD, cuts))
    assert (file.name, file.filename, file.content_type) == ("file", "a.wav", "audio/wav")
    assert content == b"one\r\n--c" == GOOD[file.start : end]
    assert (model.name, model.filename) == ("model", None)
    assert name == b"tiny" == GOOD[model.start : name_end]


@given(st.lists(st.binary(max_size=40).filter(lambda each: b"--b" not in each), max_size=5), st.integers(1, 9))
def test_content_is_never_changed(contents: list[bytes], step: int) -> None:
    body = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="f%d"; filename="x"\r\n\r\n%s\r\n' % each
        for each in enumerate(contents)
    )
    events = read(body + b"--b--", list(range(0, len(body), step)))
    assert [content for _, content, _ in joined(events)] == contents


def disposition(text: bytes) -> bytes:
    return b"--b\r\nContent-Disposition: " + text + b"\r\n\r\nx\r\n--b--"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(BODY, "form_malformed", id="a line that begins with the boundary"),
        pytest.param(b"hello\r\n" + GOOD, "form_malformed", id="words before the first part"),
        pytest.param(GOOD + b"more", "form_malformed", id="words behind the last"),
        pytest.param(GOOD.replace(b"\r\n", b"\n"), "form_malformed", id="bare line feeds"),
        pytest.param(GOOD.replace(b"--b\r\n", b"--b \r\n"), "form_malformed", id="padding"),
        pytest.param(GOOD[:-4], "form_ends_early", id="no end"),
        pytest.param(GOOD[:-3], "form_ends_early", id="half an end"),
        pytest.param(b"", "form_ends_early", id="nothing"),
        pytest.param(GOOD[:30], "form_ends_early", id="half a head"),
        pytest.param(b"--b\r\nX: " + b"y" * 9000, "form_malformed", id="an endless head"),
        pytest.param(b"--b\r\nX: 1\r\n\r\nx\r\n--b--", "form_part_unnamed", id="no disposition"),
        pytest.param(b"--b\r\nX y\r\n\r\nx\r\n--b--", "form_malformed", id="no field"),
        pytest.param(b"--b\r\n X: y\r\n\r\nx\r\n--b--", "form_malformed", id="a folded line"),
        pytest.param(disposition(b"form-data"), "form_part_unnamed", id="no name"),
        pytest.param(disposition(b'form-data; name=""'), "form_part_unnamed", id="an empty name"),
        pytest.param(disposition(b'attachment; name="a"'), "form_part_unnamed", id="no form-data"),
        pytest.param(disposition(b'form-data; name="a"; name="b"'), "form_part_unnamed", id="two names"),
        pytest.param(disposition(b"form-data; name*=utf-8''model"), "form_part_unnamed", id="an encoded name"),
        pytest.param(disposition(b'form-data; name="mod\\el"'), "form_part_unnamed", id="an escaped name"),
        pytest.param(disposition(b'form-data; name="a'), "form_part_unnamed", id="an open quotation"),
        pytest.param(
            disposition(b'form-data; name="a"\r\nContent-Transfer-Encoding: base64'), "form_part_encoded", id="encoded"
        ),
        pytest.param(
            disposition(b'form-data; name="a"\r\nContent-Disposition: form-data; name="b"'),
            "form_malformed",
            id="a header twice",
        ),
        pytest.param(
            disposition(b'form-data; name="a"\r\nContent-Type: text/plain; charset=utf-16'),
            "form_charset_bad",
            id="wide",
        ),
        pytest.param(
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n' * 1001, "form_too_many_parts", id="parts"
        ),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(Refusal, match=code):
        read(body)


@pytest.mark.parametrize(
    ("text", "name", "filename"),
    [
        (b"form-data; name=a", "a", None),
        (b'Form-Data; filename="x; y.wav"; name="a"', "a", "x; y.wav"),
        (b'form-data; name="a"; filename="C:\\d\\x.wav"', "a", "C:\\d\\x.wav"),
        (b"form-data; name=\"a\"; filename*=utf-8''x", "a", "utf-8''x"),
        ('form-data; name="模"; filename="录音.wav"'.encode(), "模", "录音.wav"),
    ],
)
def test_dispositions_in_the_spellings_of_clients(text: bytes, name: str, filename: str | None) -> None:
    (part, _, _), *_ = joined(read(disposition(text)))
    assert (part.name, part.filename) == (name, filename)


@pytest.mark.parametrize(
    ("text", "boundary"),
    [
        (b"multipart/form-data; boundary=abc", b"abc"),
        (b'Multipart/Form-Data; charset=UTF-8; boundary="a b:c"', b"a b:c"),
        (b"multipart/form-data;boundary=" + b"x" * 70, b"x" * 70),
    ],
)
def test_a_boundary_is_found(text: bytes, boundary: bytes) -> None:
    assert boundary_of(text) == boundary


@pytest.mark.parametrize(
    "text",
    [
        b"multipart/form-data",
        b"multipart/mixed; boundary=a",
        b"multipart/form-data; boundary=",
        b'multipart/form-data; boundary="a "',
        b"multipart/form-data; boundary=" + b"x" * 71,
        b"multipart/form-data; boundary=a; boundary=b",
        b'multipart/form-data; boundary="a\\b"',
        b"multipart/form-data; boundary=a b",
        b'multipart/form-data; boundary="a',
    ],
)
def test_another_boundary_is_refused(text: bytes) -> None:
    with pytest.raises(Refusal, match="form_boundary_bad"):
        boundary_of(text)
