"""The speech runner without its libraries: cutting text, writing captions, and what it says when they are absent."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import worker

FOLDER = Path(worker.__file__).parent / "runners"


def runner(name: str) -> ModuleType:
    """As it is run: its own directory first on sys.path."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


SPEECH = runner("speech_server")
SERVER = sys.modules["small_server"]
PIECE = SimpleNamespace(start=3661.5, end=3662.25, text=" Hello.")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        pytest.param("One.\n\n Two. ", ["One.", "Two."], id="lines"),
        pytest.param("a" * 150 + ". " + "b" * 100, ["a" * 150 + ".", "b" * 100], id="where a sentence ends"),
        pytest.param("a" * 150 + ", " + "b" * 100, ["a" * 150 + ",", "b" * 100], id="at a comma"),
        pytest.param("a" * 150 + " " + "b" * 100, ["a" * 150, "b" * 100], id="at a space"),
        pytest.param("字" * 450, ["字" * 200, "字" * 200, "字" * 50], id="anywhere"),
    ],
)
def test_text_goes_through_the_voice_in_pieces(text: str, pieces: list[str]) -> None:
    assert list(SPEECH.pieces_of(text)) == pieces


def test_captions_are_of_the_two_forms() -> None:
    assert SPEECH.subtitles([PIECE]) == "1\n01:01:01,500 --> 01:01:02,250\nHello.\n"
    assert SPEECH.captions([PIECE]) == "WEBVTT\n\n01:01:01.500 --> 01:01:02.250\nHello.\n"


def test_a_form_has_fields_lists_and_files() -> None:
    parts = [
        b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\near\r\n',
        b'--x\r\nContent-Disposition: form-data; name="timestamp_granularities[]"\r\n\r\nword\r\n',
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n\x00\xff\r\n\x01\r\n--x--\r\n',
    ]
    asked = SERVER.asked_of("/v1/x", "multipart/form-data; boundary=x", b"".join(parts))
    assert asked.fields == {"model": "ear", "timestamp_granularities[]": ["word"]}
    assert asked.files == {"file": b"\x00\xff\r\n\x01"}


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_a_body_that_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(SERVER.Refused) as refused:
        SERVER.asked_of("/v1/x", "application/json", content)
    assert refused.value.status == 400


@pytest.mark.parametrize(("speed", "is_fine"), [(1.5, True), ("2", True), (9, False), (True, False), ("x", False)])
def test_numbers_keep_within_their_limits(speed: object, is_fine: bool) -> None:
    asked = SERVER.Asked("/v1/x", {"speed": speed}, {})
    if is_fine:
        assert asked.number("speed", 1.0, 0.25, 4.0) == float(str(speed))
        return
    with pytest.raises(SERVER.Refused):
        asked.number("speed", 1.0, 0.25, 4.0)


@pytest.mark.parametrize("files", [("joe.onnx", "joe.onnx.json"), ("model.bin",)], ids=["voice", "ear"])
def test_without_its_library_it_ends_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...]
) -> None:
    for name in files:
        (tmp_path / name).write_text("{}")
    for library in ("piper", "faster_whisper"):
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(SERVER.signal, "signal", lambda *_: None)
    assert SPEECH.main(["--model", str(tmp_path), "--alias", "a", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "speech_server: the engine's library could not be loaded: " in said


def test_a_directory_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(SERVER.Failed, match="neither a Piper voice"):
        SPEECH.load(SimpleNamespace(model=str(tmp_path), threads=1))
