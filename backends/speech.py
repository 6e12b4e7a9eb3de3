"""Speech on the CPU: Piper voices that speak, Whisper models (CTranslate2) that listen, each under our runner.

piper-tts is GPL-3.0-or-later: it is installed into an environment of its own and run as a process of its own.
"""

from collections.abc import Mapping, Sequence

from backends import runners
from backends.base import Backend, Estimate, Option, Placed, Want
from backends.failures import first_known
from backends.options import check_env, checked
from backends.runners import MIB
from gpustack_lite.domain import Abilities, BackendVersion, DeviceKind, LaunchSpec, ModelFacts, Options, Sentence

PIPER, WHISPER = "1.8.0", "1.2.1"
RUNNER = "speech_server.py"
VOICE, EAR = "PiperVoice", "WhisperCTranslate2"
"""What hub.shelves calls the two kinds of directory."""
SPEAKS = frozenset({"/v1/audio/speech"})
LISTENS = frozenset({"/v1/audio/transcriptions", "/v1/audio/translations"})
_PROCESS_BYTES = 96 * MIB
_WORK_BYTES = 320 * MIB
"""Measured: a voice of 60 MiB held 428 MiB after 4000 characters, Whisper tiny.en (72 MiB) 464 MiB after 207 seconds
of sound; both grew with the longest piece, and the runner bounds that."""


class Speech:
    name = "speech"
    device_kinds: frozenset[DeviceKind] = frozenset({"cpu"})
    paths = SPEAKS | LISTENS
    needs_facts = True
    needs_files = True
    known_options: tuple[Option, ...] = ()

    def versions(self) -> tuple[BackendVersion, ...]:
        return (
            BackendVersion(
                backend=self.name,
                version=f"piper{PIPER}-whisper{WHISPER}",
                device_kinds=self.device_kinds,
                source="wheel",
                installed=False,
                requirement=f"piper-tts=={PIPER} faster-whisper=={WHISPER}",
            ),
        )

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        checked(options, {}, frozenset())
        check_env(env, runners.FORBIDDEN_VARIABLES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        self.check(want.options, {})
        weights = runners.weights_of(runners.needed(facts, frozenset({VOICE, EAR}), self.name))
        return (runners.in_ram(weights, max(_WORK_BYTES, weights), _PROCESS_BYTES),)

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        self.check(options, {})
        if facts is None or facts.architecture not in {VOICE, EAR}:
            return Abilities(paths=self.paths)
        speaks = facts.architecture == VOICE
        return Abilities(
            paths=SPEAKS if speaks else LISTENS,
            input_modalities=("text",) if speaks else ("audio",),
            output_modalities=("audio",) if speaks else ("text",),
            tools=False,
            reasoning=False,
            json_schema=False,
        )

    def launch(self, placed: Placed) -> LaunchSpec:
        self.check(placed.options, placed.env)
        return runners.launch(placed, RUNNER, {}, deadline_seconds=120.0)

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(runners.FAILURES, log_lines)


SPEECH: Backend = Speech()
