"""vLLM: directories of weights on NVIDIA GPUs, or on the CPU where an installation of it is found there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from backends import vllm_adapters, vllm_failures
from backends.base import Estimate, Option, Placed, Team, Want
from backends.failures import Failure, first_known
from backends.memory import fitting
from backends.memory.vllm import GRAPH_BYTES, Reserving
from backends.options import OptionValue, check_env, flags, passed, unknown_of
from backends.parsing import OPTIONS as PARSER_OPTIONS
from backends.parsing import Chosen, chosen, said
from backends.vllm_cpu import cpu_env, on_cpu
from backends.vllm_inner import check_inner
from backends.vllm_options import FORBIDDEN, FORBIDDEN_VARIABLES, KNOWN, SUSPECT, SWITCHES
from backends.vllm_use import POOLED, pooling, used_as
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    DeviceKind,
    HttpProbe,
    LaunchSpec,
    ModelFacts,
    Options,
    Sentence,
)
from gpustack_lite.errors import Refusal

GENERATING = frozenset(
    {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"}
)
TEMPLATE = "chat_template.jinja"
_ALWAYS: Mapping[str, OptionValue] = {"enable-prompt-tokens-details": True}
"""So that usage tells what came from the cache."""
_OURS = PARSER_OPTIONS | {vllm_adapters.OPTION}
"""Said to the engine in another way than as they are."""
_LEAST_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Vllm:
    """vLLM and its platform plugins differ in devices, in a few numbers, and in the environment they want."""

    name: str = "vllm"
    device_kinds: frozenset[DeviceKind] = frozenset({"cuda", "cpu"})
    visible: str = "CUDA_VISIBLE_DEVICES"
    env: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = vllm_failures.VLLM
    spans_workers: bool = True
    """Whether several workers may carry one replica."""
    paths: frozenset[str] = GENERATING.union(*POOLED.values())
    needs_facts: bool = True
    needs_files: bool = True
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        """None that our installer makes yet; simulated devices need none."""
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        check_inner(_read(options))
        check_env(env, FORBIDDEN_VARIABLES)

    def arithmetic(self, values: Mapping[str, OptionValue]) -> Reserving:
        return Reserving(values, frozenset({"cuda"}), graph_bytes=GRAPH_BYTES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        values = _read(want.options)
        known = used_as(directory(facts, self.name), values)
        self._parsers(known, values)
        if "cpu" in self.device_kinds and not any(each.kind == "cuda" for each in want.devices):
            return (on_cpu(known, values, asked(values)),)
        return fitting.estimates(known, want, asked(values), self.arithmetic(values), spans=self.spans_workers)

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        values = _read(options)
        if facts is None:
            return Abilities(paths=self.paths)
        if (known := used_as(facts, values)).kind in POOLED:
            return pooling(known)
        parsers = self._parsers(known, values)
        return Abilities(
            paths=GENERATING,
            input_modalities=("text", "image") if facts.kind == "vlm" else ("text",),
            output_modalities=("text",),
            tools=parsers.tools is not None,
            reasoning=parsers.reasoning is not None,
            json_schema=True,
            spelling="reasoning" if parsers.reasoning is not None else None,
            adapters=tuple(vllm_adapters.adapters(values)),
        )

    def directories(self, options: Options) -> Sequence[str]:
        return tuple(vllm_adapters.adapters(_read(options)).values())

    def cautions(self, facts: ModelFacts, options: Options, chips: Sequence[str]) -> Sequence[Sentence]:
        values = _read(options)
        known, unseen = used_as(facts, values), unknown_of(options, KNOWN)
        passed_on = [Sentence("options_passed_on", {"options": ", ".join(unseen), "backend": self.name})]
        of_parsers = said(known, values, self._parsers(known, values), "vllm") if known.kind not in POOLED else ()
        return (*(passed_on if unseen else ()), *of_parsers)

    def launch(self, placed: Placed) -> LaunchSpec:
        values = _read(placed.options)
        own = {name: value for name, value in values.items() if name not in _OURS and not _is_unset(name, value)}
        forced = {**self._settled(placed, values), **_told(placed, values), **_together(placed.team), **_trust(placed)}
        decided = {**self.by_device(placed, values), **own, **self.above(placed, values), **forced}
        name, port = placed.model_name, placed.port
        ours: dict[str, OptionValue] = {"served-model-name": name, "host": "127.0.0.1", "port": port}
        return LaunchSpec(
            argv=(
                *(*_program(placed.version), "serve", _model(placed)),
                *(*flags({**ours, **decided}), *vllm_adapters.told(values, name)),
            ),
            env={
                **dict(self.env),
                **self.env_by_device(placed),
                **placed.env,
                **self._devices(placed, values),
                **_reached_at(placed.team),
                "VLLM_API_KEY": placed.engine_key,
                "HF_HUB_OFFLINE": "1",
                "VLLM_NO_USAGE_STATS": "1",
                "DO_NOT_TRACK": "1",
            },
            port=placed.port,
            workdir=placed.workdir,
            probe=HttpProbe("" if placed.team and placed.team.rank else "/health", deadline_seconds=_LEAST_SECONDS),
            files={TEMPLATE: str(values["chat-template"])} if "chat-template" in values else {},
        )

    def by_device(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """Options that the chip or the weights want; the user's own stand before them."""
        return dict(_ALWAYS) if is_on_accelerator(placed) else {**_ALWAYS, "enforce-eager": True}

    def above(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """What stands even before the user's own, because it contains that."""
        return {}

    def env_by_device(self, placed: Placed) -> dict[str, str]:
        """The user's own variables stand before them."""
        return {}

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(self.failures, log_lines)

    def _parsers(self, facts: ModelFacts, values: Mapping[str, OptionValue]) -> Chosen:
        return chosen(facts, values, "vllm")

    def _settled(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """What was placed, said outright: an engine of another version must not choose other defaults."""
        wish = asked(values)
        made: dict[str, OptionValue] = {"tensor-parallel-size": tensor_of(placed, wish)}
        if placed.context_length:
            made["max-model-len"] = placed.context_length
        total = min((each.memory_total_bytes or 0 for each in placed.devices), default=0)
        if total and placed.claim.bytes_per_device:
            made["gpu-memory-utilization"] = round(placed.claim.bytes_per_device / total, 3)
        if placed.facts is not None and placed.facts.kind == "llm" and (total or not is_on_accelerator(placed)):
            taken = self.arithmetic(values).chosen(placed.facts, total, placed.context_length or 0)
            made |= {"max-num-batched-tokens": taken.batched_tokens, "max-num-seqs": taken.sequences}
        return made

    def _devices(self, placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, str]:
        if is_on_accelerator(placed):
            return {self.visible: ",".join(each.visible_name for each in placed.devices)}
        return cpu_env(placed, values, asked(values))


def _together(team: Team | None) -> dict[str, OptionValue]:
    """Its own processes on each worker, and a place where they meet (`vllm serve --help`, parallel configuration)."""
    if team is None:
        return {}
    made: dict[str, OptionValue] = {
        "distributed-executor-backend": "mp",
        "pipeline-parallel-size": len(team.mates),
        "nnodes": len(team.mates),
        "node-rank": team.rank,
        "master-addr": team.leader.address,
        "master-port": team.port,
    }
    return made | ({"headless": True} if team.rank else {})


def _trust(placed: Placed) -> dict[str, OptionValue]:
    return {"trust-remote-code": True} if placed.trust_remote_code else {}


def _reached_at(team: Team | None) -> dict[str, str]:
    return {} if team is None else {"VLLM_HOST_IP": team.mates[team.rank].address}


def _is_unset(name: str, value: OptionValue) -> bool:
    return name in SWITCHES and value is False


def is_on_accelerator(placed: Placed) -> bool:
    return bool(placed.devices) and placed.devices[0].kind != "cpu"


def _told(placed: Placed, values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """What the model's family and its use want: parsers, the pooling runner, and the template that was given."""
    facts = None if placed.facts is None else used_as(placed.facts, values)
    if facts is not None and facts.kind in POOLED:
        return {"runner": "pooling"}
    found = chosen(facts, values, "vllm")
    told: dict[str, OptionValue] = {}
    if found.tools is not None:
        told |= {"enable-auto-tool-choice": True, "tool-call-parser": found.tools}
    if found.reasoning is not None:
        told["reasoning-parser"] = found.reasoning
    return told | ({"chat-template": f"{placed.workdir}/{TEMPLATE}"} if "chat-template" in values else {})


def _read(options: Options) -> dict[str, OptionValue]:
    """
    Raises:
        Refusal: `option_not_allowed`, `option_unknown` or `option_invalid`.
    """
    return vllm_adapters.with_adapters(passed(options, KNOWN, FORBIDDEN, SUSPECT))


def directory(facts: ModelFacts | None, backend: str) -> ModelFacts:
    """Raises:
    Refusal: `cannot_estimate` or `model_format_differs`.
    """
    if facts is None:
        raise Refusal("cannot_estimate", path=None, missing="config.json")
    if facts.format != "hf":
        raise Refusal("model_format_differs", param="backend", backend=backend, path=facts.path, format=facts.format)
    return facts


def asked(values: Mapping[str, OptionValue]) -> fitting.Asked:
    """Raises:
    Refusal: `option_invalid` for a size below one.
    """
    return fitting.Asked(
        tensor=whole(values, "tensor-parallel-size"),
        pipeline=whole(values, "pipeline-parallel-size") or 1,
        data=whole(values, "data-parallel-size") or 1,
        expert=values.get("enable-expert-parallel") is True,
        context=whole(values, "max-model-len"),
        stretches="hf-overrides" in values,
    )


def whole(values: Mapping[str, OptionValue], name: str) -> int | None:
    """Raises:
    Refusal: `option_invalid` for what is not at least one.
    """
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or value < 1:
        raise Refusal("option_invalid", param=f"options.{name}", option=name, value=str(value), expected=">= 1")
    return value


def tensor_of(placed: Placed, wish: fitting.Asked) -> int:
    """Of the devices that were given: the scheduler chose how many."""
    if placed.team is not None:
        return len(placed.devices)
    others = wish.pipeline * wish.data
    return wish.tensor or max(len(placed.devices) // others, 1)


def _program(version: BackendVersion) -> tuple[str, ...]:
    """A vllm found on PATH, or the module in the Python of its environment."""
    executable = version.executable or "vllm"
    is_python = PurePath(executable).name.startswith("python")
    return (executable, "-m", "vllm.entrypoints.cli.main") if is_python else (executable,)


def _model(placed: Placed) -> str:
    return placed.source_path or (placed.facts.path if placed.facts is not None else "")


VLLM = Vllm()
