"""A backend whose claims a test decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backends.base import Estimate, Option, Placed, Want
from gpustack_lite.domain import (
    Abilities,
    BackendVersion,
    Claim,
    DeviceKind,
    LaunchSpec,
    Memory,
    ModelFacts,
    Options,
    Sentence,
)
from gpustack_lite.errors import Refusal

GIB = 1024**3


@dataclass(frozen=True)
class FakeBackend:
    """Claims `gib` on each of `count` devices; of `options["gib"]` and `options["count"]` where they are given."""

    name: str = "fake"
    device_kinds: frozenset[DeviceKind] = frozenset({"cuda", "ascend", "cpu"})
    paths: frozenset[str] = frozenset({"/v1/chat/completions"})
    needs_facts: bool = False
    needs_files: bool = False
    known_options: tuple[Option, ...] = ()
    claim: Claim = field(default_factory=lambda: Claim(1, 14 * GIB, 0, frozenset({"cuda", "ascend"})))

    def versions(self) -> tuple[BackendVersion, ...]:
        return ()

    def check(self, options: Options, env: Mapping[str, str]) -> None:
        return None

    def estimates(self, facts: ModelFacts | None, want: Want) -> tuple[Estimate, ...]:
        if want.options.get("unknown"):
            raise Refusal("cannot_estimate", why="a test says so")
        gib, count = want.options.get("gib"), want.options.get("count")
        wished = Claim(
            device_count=self.claim.device_count if count is None else int(str(count)),
            bytes_per_device=self.claim.bytes_per_device if gib is None else int(str(gib)) * GIB,
            device_kinds=self.claim.device_kinds,
            worker_count=int(str(want.options.get("workers", 1))),
        )
        return (Estimate(wished, Memory(GIB, 1024, GIB, GIB, GIB), 4096),)

    def abilities(self, facts: ModelFacts | None, options: Options) -> Abilities:
        return Abilities(paths=self.paths)

    def launch(self, placed: Placed) -> LaunchSpec:
        raise NotImplementedError

    def last_error(self, log_lines: Sequence[str]) -> Sentence | None:
        return None
