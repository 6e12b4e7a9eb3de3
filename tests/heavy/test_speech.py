"""Speech through the whole platform: a sentence is spoken by one model and written down by another."""

import re
import time
from pathlib import Path

import httpx
import pytest

from tests.fakes import packaged_models
from tests.harness import Platform
from tests.heavy.conftest import Tell, own_ports

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.timeout(900)]
SENTENCE = "The quick brown fox jumps over the lazy dog."
FORMS = ("mp3", "wav", "opus", "flac", "aac")


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def test_what_one_model_says_another_writes_down(tmp_path: Path, tell: Tell) -> None:
    voice, ear = packaged_models.voice(), packaged_models.ear()
    with Platform(tmp_path, model_roots=[voice, ear], env=own_ports()) as platform:
        began = time.monotonic()
        platform.deploy("joe", source=str(voice))
        platform.wait_ready("joe", seconds=600)
        installed = time.monotonic() - began
        platform.deploy("ear", source=str(ear))
        platform.wait_ready("ear", seconds=120)
        spoken = {form: said(platform, form) for form in FORMS}
        assert {form: words(heard(platform, sound)["text"]) for form, sound in spoken.items()} == dict.fromkeys(
            FORMS, words(SENTENCE)
        )
        assert words(heard(platform, spoken["mp3"], "translations")["text"]) == words(SENTENCE)
        platform.until(lambda: {each["model"] for each in platform.usage()} >= {"joe", "ear"}, 30)
        refused = asked(platform, "/v1/audio/speech", json={"model": "ear", "input": SENTENCE, "voice": "x"})
        assert refused.status_code in {400, 404}
        tell("speech through the platform", ready_with_installation_seconds=round(installed), forms=len(FORMS))


def said(platform: Platform, form: str) -> bytes:
    body = {"model": "joe", "input": SENTENCE, "voice": "alloy", "response_format": form}
    answer = asked(platform, "/v1/audio/speech", json=body)
    assert answer.is_success, answer.text
    assert answer.headers["content-type"].startswith("audio/")
    return answer.content


def heard(platform: Platform, sound: bytes, what: str = "transcriptions") -> dict[str, str]:
    answer = asked(platform, f"/v1/audio/{what}", files={"file": ("a.bin", sound)}, data={"model": "ear"})
    assert answer.is_success, answer.text
    found: dict[str, str] = answer.json()
    return found


def asked(platform: Platform, path: str, **body: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {platform.key()}"}
    return platform.api.post(path, headers=headers, **body)  # type: ignore[arg-type]
