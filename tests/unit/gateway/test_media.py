import io
import json
import wave

import pytest

from gpustack_lite.gateway.media import ImageCount, said_seconds, wav_seconds

LINE = "/v1/audio/transcriptions"


def wav(seconds: float, rate: int = 8000) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(b"\0\0" * int(seconds * rate))
    return file.getvalue()


def test_a_wav_file_says_how_long_it_is() -> None:
    sound = wav(2.5)
    assert wav_seconds(sound[:4096], len(sound)) == 2.5


def test_a_wav_file_that_did_not_know_its_length_is_measured() -> None:
    sound = wav(2.5)
    at = sound.index(b"data") + 4
    assert wav_seconds((sound[:at] + b"\xff\xff\xff\xff" + sound[at + 4 :])[:4096], len(sound)) == 2.5


@pytest.mark.parametrize("head", [b"", b"ID3", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0WAVEdata\4\0\0\0", wav(1)[:20]])
def test_what_is_no_wav_file_says_nothing(head: bytes) -> None:
    assert wav_seconds(head, 1000) is None


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        ({"text": "x", "duration": 3.25}, 3.25),
        ({"text": "x", "duration": "3.25"}, 3.25),
        ({"text": "x", "usage": {"type": "duration", "seconds": 4}}, 4.0),
        ({"text": "x", "usage": {"type": "tokens", "input_tokens": 4}}, None),
        ({"text": "x", "duration": "long"}, None),
        ({"text": "x", "duration": -1}, None),
        ({"text": "x"}, None),
        ([], None),
    ],
)
def test_an_answer_says_how_long_the_audio_was(answer: object, seconds: float | None) -> None:
    assert said_seconds(LINE, json.dumps(answer).encode()) == seconds
    assert said_seconds("/v1/chat/completions", json.dumps(answer).encode()) is None


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_images_are_counted_however_the_answer_is_cut(step: int) -> None:
    images = [{"b64_json": "abc" * 50, "revised_prompt": 'say "url" and "b64_json"', "url": None} for _ in range(3)]
    answer = json.dumps({"created": 1, "data": images}).encode()
    count = ImageCount("/v1/images/edits")
    for at in range(0, len(answer), step):
        count.feed(answer[at : at + step])
    assert count.images == 3


def test_other_answers_have_no_images() -> None:
    count = ImageCount("/v1/chat/completions")
    count.feed(b'{"url":1}')
    assert count.images is None
