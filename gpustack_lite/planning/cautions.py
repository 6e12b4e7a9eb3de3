"""What a person should know of a model before it is deployed, whether or not it fits."""

from collections.abc import Iterable, Iterator, Sequence

from backends.base import Warns
from backends.compatibility import Host, verdict
from backends.trust import refuse_pickle
from gpustack_lite.domain import Device, ModelFacts, Params, Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.planning.subject import Subject
from scheduler import Node

_NO_BFLOAT16 = ("310P",)
"""vllm-ascend refuses: "This device does not support bfloat16" (case 11 of its issues: #641, #752, #37)."""
_NO_FP8 = ("310P", "910B", "910A", "910PRO")
"""Chips whose matrix units know no 8-bit floats. 910C and later are left to the engine."""
_BROUGHT = ("huggingface:", "modelscope:", "http://", "https://")
_FLOAT8 = frozenset({"fp8", "mxfp4", "nvfp4"})
_ENGINES_READ: dict[str, frozenset[str]] = {
    "mindie": frozenset({"ascend"}),
}
"""Quantisations that an engine reads, of those about which we are sure."""


def cautions(subject: Subject, devices: Iterable[Device], workers: Iterable[Node] = ()) -> tuple[Sentence, ...]:
    """`devices` and `workers` are those it would get, or all that there are where it gets none."""
    facts = subject.facts
    trusted = (Sentence("model_code_trusted"),) if subject.trust_remote_code else ()
    if facts is None:
        unknown = (Sentence("facts_unknown", {"source": subject.source}),) if subject.backend.needs_facts else ()
        return (*trusted, *unknown)
    chips = sorted({device.chip for device in devices})
    return (
        *trusted,
        *_of_files(facts, subject),
        *_of_engine(subject, facts),
        *_of_backend(subject, facts, chips),
        *_of_chips(facts, subject, chips),
        *_of_disk(facts, subject.source, workers),
    )


def _of_disk(facts: ModelFacts, source: str, workers: Iterable[Node]) -> Iterator[Sentence]:
    """Only what has to be brought: a path is there already. Of many workers the one with most room speaks."""
    needed, rooms = facts.download_bytes, [(each.room_on_disk_bytes, each.name) for each in workers]
    known = [(room, name) for room, name in rooms if room is not None]
    if needed is None or not known or not source.startswith(_BROUGHT):
        return
    room, name = max(known)
    if room < needed:
        params: Params = {"worker": name, "download_bytes": needed, "free_bytes": max(0, room)}
        yield Sentence("download_exceeds_disk", params)


def _of_files(facts: ModelFacts, subject: Subject) -> Iterator[Sentence]:
    if facts.runs_code and not subject.trust_remote_code:
        yield Sentence("model_runs_code")
    refused = refuse_pickle(subject.backend, facts, subject.options)
    if refused is not None:
        yield Sentence("model_has_pickle") if subject.allow_pickle else refused.sentence
    if facts.unknown:
        yield Sentence("facts_incomplete", {"missing": ", ".join(facts.unknown)})
    if facts.format == "hf" and facts.weights_from == "config":
        yield Sentence("weights_from_config")


def _of_engine(subject: Subject, facts: ModelFacts) -> Iterator[Sentence]:
    method, reads = facts.quantization_method, _ENGINES_READ.get(subject.name)
    if method and reads is not None and method not in reads:
        yield Sentence("quantization_not_read", {"quantization": method, "backend": subject.name})


def _of_backend(subject: Subject, facts: ModelFacts, chips: Sequence[str]) -> Sequence[Sentence]:
    """What the engine's adapter has to say; where it refuses the options, that is the answer and not a caution."""
    try:
        return subject.backend.cautions(facts, subject.options, chips) if isinstance(subject.backend, Warns) else ()
    except Refusal:
        return ()


def _of_chips(facts: ModelFacts, subject: Subject, chips: Iterable[str]) -> Iterator[Sentence]:
    computes = str(subject.options.get("dtype") or facts.dtype or "")
    for chip in chips:
        if computes in {"bfloat16", "bf16"} and chip.upper().startswith(_NO_BFLOAT16):
            yield Sentence("dtype_unsupported", {"dtype": "bfloat16", "chip": chip, "instead": "float16"})
        if (facts.quantization_method or "") in _FLOAT8 and chip.upper().startswith(_NO_FP8):
            yield Sentence("quantization_unsupported", {"quantization": facts.quantization_method, "chip": chip})
        if (found := verdict(Host(), chip, subject.backend.name, None)).status == "wrong":
            yield found.said
