"""A tiny real OpenAI server with scripted behaviour: for tests, and in place of engines on simulated devices."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from backends.base import Backend, Estimate, Option, Placed, Team, Want
from backends.failures import COMMON, first_known
from backends.options import OptionValue, check_env, checked
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    Claim,
    DeviceKind,
    HttpProbe,
    LaunchSpec,
    ModelFacts,
    Options,
    Sentence,
)

RUNNER = "echo_server.py"
MIB = 1024**2
DEFAULT_RAM_BYTES = 64 * MIB
DEFAULT_EMBEDDING_DIMS = 8
"""The runner's own; a test holds the two together."""
KINDS: frozenset[DeviceKind] = frozenset({"ascend", "cuda", "rocm", "cpu"})
_CLAIM_OPTIONS = (
    Option("device-count", "int", "accelerators to claim"),
    Option("bytes-per-device", "int", "bytes to claim on each of them"),
    Option("ram-bytes", "int", "bytes of RAM to claim"),
    Option("max-model-len", "int", "context length to advertise"),
    Option("workers", "int", "workers that carry a replica together"),
)
_SCRIPT_OPTIONS = (
    Option("first-token-ms", "float", "latency before the first token"),
    Option("chunk-ms", "float", "delay between chunks"),
    Option("words", "int", "words of an answer; the last message is repeated"),
    Option("text", "str", "the answer, instead of an echo"),
    Option("start-ms", "float", "delay before the port opens"),
    Option("load-ms", "float", "time for which /health answers 503 after the port opened"),
    Option("exit-code", "int", "end with this code instead of starting"),
    Option("exit-line", "str", "what is printed before that end"),
    Option("exit-after-requests", "int", "end abruptly when the next request arrives after so many"),
    Option("reset-after-frames", "int", "reset the connection (RST) after so many frames of a stream"),
    Option("end-after-frames", "int", "close the connection cleanly after so many frames, without [DONE]"),
    Option("comments", "int", "SSE comments before the first frame"),
    Option("comment-ms", "float", "delay between those"),
    Option("crlf", "bool", "end lines of a stream with CRLF"),
    Option("multi-line", "bool", "spread the JSON of each event over several data lines"),
    Option("byte-by-byte", "bool", "write streams one byte at a time"),
    Option("byte-ms", "float", "delay between those"),
    Option("status", "int", "answer requests with this status"),
    Option("error-body", "str", "and with this body"),
    Option("cached-tokens", "int", "prompt tokens that usage calls cached"),
    Option("embedding-dims", "int", "length of embeddings"),
    Option("children", "int", "processes to fork into a process group of their own"),
    Option("lock-file", "str", "the file in the working directory that those keep locked"),
    Option("ignore-term", "bool", "go on after SIGTERM"),
)
KNOWN: Mapping[str, Option] = {option.name: option for option in (*_CLAIM_OPTIONS, *_SCRIPT_OPTIONS)}


class Echo:
    name = "echo"
    device_kinds = KINDS
    paths = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/embeddings"})
    needs_facts = False
    needs_files = False
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        return (BackendVersion(self.name, "1", KINDS, source="builtin", installed=True),)

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        checked(options, KNOWN, frozenset())
        check_env(env)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        values = checked(want.options, KNOWN, frozenset())
        return (Estimate(_claim(values), None, _whole(values, "max-model-len") or None),)

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        dims = _whole(checked(options, KNOWN, frozenset()), "embedding-dims", DEFAULT_EMBEDDING_DIMS)
        return Abilities(
            paths=self.paths,
            input_modalities=("text",),
            output_modalities=("text", "embedding"),
            tools=False,
            reasoning=False,
            json_schema=False,
            embedding_dimensions=dims,
        )

    def launch(self, placed: Placed) -> LaunchSpec:
        values = checked(placed.options, KNOWN, frozenset())
        names = {option.name for option in _SCRIPT_OPTIONS}
        return _spec(placed, {name: value for name, value in values.items() if name in names})

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(COMMON, log_lines)


def stand_in(placed: Placed, version: BackendVersion) -> LaunchSpec:
    """What runs for `placed` on simulated devices: the echo engine of `version`, whose answers say "simulated".

    A model of the echo backend itself keeps its script.
    """
    own = placed.version.backend == Echo.name
    values = checked(placed.options, KNOWN, frozenset()) if own else {}
    names = {option.name for option in _SCRIPT_OPTIONS}
    script = {name: value for name, value in values.items() if name in names}
    return _spec(replace(placed, version=version), {**script, "simulated": True})


def _spec(placed: Placed, script: Mapping[str, OptionValue]) -> LaunchSpec:
    runner = str(PurePath(placed.runner_dir) / RUNNER)
    return LaunchSpec(
        argv=(
            *(placed.version.executable or "python3", "-I", runner),
            *("--port", str(placed.port), "--model", placed.model_name),
            *(("--max-model-len", str(placed.context_length)) if placed.context_length else ()),
            *("--script", json.dumps(script, sort_keys=True)),
            *_meeting(placed.team),
        ),
        env={**placed.env, "ECHO_API_KEY": placed.engine_key},
        port=placed.port,
        workdir=placed.workdir,
        probe=HttpProbe("" if placed.team is not None and placed.team.rank else "/health", deadline_seconds=30.0),
    )


def _meeting(team: Team | None) -> tuple[str, ...]:
    """The leader serves as soon as all the others have met it; a follower ends when its leader is gone."""
    if team is None:
        return ()
    place = ("--meet", team.leader.address, str(team.port))
    return (*place, "--rank", str(team.rank), "--ranks", str(len(team.mates)))


def _claim(values: Mapping[str, OptionValue]) -> Claim:
    device_count = max(_whole(values, "device-count"), 0)
    accelerators: frozenset[DeviceKind] = KINDS - {"cpu"}
    return Claim(
        device_count=device_count,
        bytes_per_device=max(_whole(values, "bytes-per-device"), 0),
        ram_bytes=max(_whole(values, "ram-bytes", DEFAULT_RAM_BYTES), 0),
        device_kinds=accelerators if device_count else frozenset({"cpu"}),
        worker_count=max(_whole(values, "workers", 1), 1),
    )


def _whole(values: Mapping[str, OptionValue], name: str, default: int = 0) -> int:
    return int(values.get(name, default))


ECHO: Backend = Echo()
