"""Images on the CPU: text-to-image pipelines of diffusers, under a runner of ours."""

from collections.abc import Mapping, Sequence

from backends import runners
from backends.base import Backend, Estimate, Option, Placed, Want
from backends.failures import first_known
from backends.options import check_env, checked
from backends.runners import MIB
from gpustack_lite.domain import Abilities, BackendVersion, DeviceKind, LaunchSpec, ModelFacts, Options, Sentence
from gpustack_lite.errors import Refusal

RUNNER = "diffusers_server.py"
PATHS = frozenset({"/v1/images/generations"})
KNOWN: Mapping[str, Option] = {
    each.name: each
    for each in (
        Option("steps", "int", "steps of an image where the request does not say (25)"),
        Option("dtype", "choice", "type to compute in", choices=("float32", "bfloat16", "float16")),
    )
}
_PROCESS_BYTES = 900 * MIB
_WORK_BYTES = 2048 * MIB
"""A guess for images of up to a million pixels: no weights of a real pipeline could be had to measure it."""


class Diffusers:
    name = "diffusers"
    device_kinds: frozenset[DeviceKind] = frozenset({"cpu"})
    paths = PATHS
    needs_facts = True
    needs_files = True
    known_options: tuple[Option, ...] = tuple(KNOWN.values())

    def versions(self) -> tuple[BackendVersion, ...]:
        """Nothing that is made unasked: torch is large. `backends install` makes it."""
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        checked(options, KNOWN, frozenset())
        check_env(env, runners.FORBIDDEN_VARIABLES)

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        """Twice the weights unless a half type is asked for: they are mostly kept in half precision."""
        values = checked(want.options, KNOWN, frozenset())
        if facts is None or facts.kind != "image":
            said = "?" if facts is None else facts.kind
            raise Refusal("engine_serves_other_models", param="backend", backend=self.name, kinds="image", said=said)
        widened = 2 if values.get("dtype", "float32") == "float32" else 1
        return (runners.in_ram(runners.weights_of(facts) * widened, _WORK_BYTES, _PROCESS_BYTES),)

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        self.check(options, {})
        return Abilities(paths=PATHS, input_modalities=("text",), output_modalities=("image",), tools=False)

    def launch(self, placed: Placed) -> LaunchSpec:
        return runners.launch(placed, RUNNER, checked(placed.options, KNOWN, frozenset()), deadline_seconds=300.0)

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return first_known(runners.FAILURES, log_lines)


DIFFUSERS: Backend = Diffusers()
