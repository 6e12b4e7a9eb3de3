"""Speech: which directories speak and which listen, what they claim, and how they are run."""

from dataclasses import replace
from pathlib import Path

import pytest

from backends import registry, slots
from backends.base import Backend, Want
from backends.speech import EAR, LISTENS, SPEAKS, SPEECH, VOICE
from gpustack_lite.domain import ModelFacts
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts, speech
from tests.unit.backends.models import facts as published
from tests.unit.backends.models import placed

backend: Backend = SPEECH
MIB = 1024**2
VOICE_FACTS = speech.facts_of_voice("/voices/joe", 60 * MIB)
EAR_FACTS = replace(VOICE_FACTS, architecture=EAR, weights_bytes=1500 * MIB)


def folder(path: Path, **files: str) -> Path:
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return path


def test_a_piper_voice_is_one_that_speaks(tmp_path: Path) -> None:
    found = facts.read(folder(tmp_path, joe__onnx="12345", joe__onnx__json="{}"), [tmp_path])
    assert (found.architecture, found.kind, found.weights_bytes) == (VOICE, "audio", 5)
    assert registry.choose(found, str(tmp_path)) is SPEECH


def test_a_whisper_of_ctranslate2_is_one_that_listens(tmp_path: Path) -> None:
    made = folder(tmp_path, config__json='{"suppress_ids": [1]}', model__bin="123", vocabulary__txt="a")
    found = facts.read(made, [tmp_path])
    assert (found.architecture, found.kind, found.weights_bytes) == (EAR, "audio", 3)
    assert registry.choose(found, str(tmp_path)) is SPEECH


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"a__onnx": "1", "b__onnx": "1", "a__onnx__json": "{}", "b__onnx__json": "{}"}, id="two voices"),
        pytest.param({"config__json": '{"architectures": ["BertModel"]}', "model__bin": "1"}, id="weights of torch"),
    ],
)
def test_other_directories_are_not_for_it(tmp_path: Path, files: dict[str, str]) -> None:
    found = facts.read(folder(tmp_path, **files), [tmp_path])
    with pytest.raises(Refusal, match="engine_serves_other_models"):
        SPEECH.estimates(found, Want())


def test_it_claims_the_weights_and_room_for_the_longest_piece() -> None:
    claims = [SPEECH.estimates(each, Want())[0].claim.ram_bytes // MIB for each in (VOICE_FACTS, EAR_FACTS)]
    assert claims == [60 + 320 + 96, 1500 + 1500 + 96]


@pytest.mark.parametrize(("known", "paths"), [(VOICE_FACTS, SPEAKS), (EAR_FACTS, LISTENS), (None, SPEAKS | LISTENS)])
def test_a_model_either_speaks_or_listens(known: ModelFacts | None, paths: frozenset[str]) -> None:
    assert SPEECH.abilities(known, {}).paths == paths


def test_its_key_goes_by_environment_and_no_hub_is_asked() -> None:
    version = replace(SPEECH.versions()[0], executable="/engines/speech/bin/python")
    spec = SPEECH.launch(placed("Qwen3-14B", version, (), None))
    assert spec.argv[:3] == ("/engines/speech/bin/python", "-I", "/app/worker/runners/speech_server.py")
    assert {"--model=/models/Qwen3-14B", "--alias=served", "--port=21000"} <= set(spec.argv)
    assert (spec.env["ENGINE_API_KEY"], spec.env["HF_HUB_OFFLINE"]) == ("secret-key", "1")
    assert not any("secret-key" in part for part in spec.argv)


def test_what_it_cannot_serve_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="engine_serves_other_models"):
        SPEECH.estimates(published("Qwen3-14B"), Want())
    with pytest.raises(Refusal, match="option_unknown_here"):
        SPEECH.check({"beam": 3}, {})


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("speech_server: the engine's library could not be loaded: No module named 'piper'", "engine_library_missing"),
        ("speech_server: /m holds neither a Piper voice (...) nor a model.bin of Whisper", "engine_file_invalid"),
        ("speech_server: /m could not be served: Unsupported model binary version", "engine_file_invalid"),
        ("speech_server: [Errno 98] Address already in use", "engine_port_in_use"),
    ],
)
def test_its_last_words_are_understood(line: str, code: str) -> None:
    said = SPEECH.last_error([line])
    assert said is not None
    assert said.code == code


def test_one_request_at_a_time_goes_through_a_voice() -> None:
    assert slots.slots_of("speech", {}) == 1
