"""What earlier loads taught: a measurement takes the place of an estimate for the very same load, and of no other.

Pure. The server keeps one row per key (`db.queries.learning`) and hands those of a model's source to `Subject`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from backends.base import Estimate
from gpustack_lite.domain import Allocated, Claim, Memory, ModelFacts, Options, Term
from gpustack_lite.errors import Refusal

MARGIN = 0.03
"""On what was measured: allocators round, and two loads of one model differ by less than that (docs/memory.md)."""
SHARE_MARGIN = 0.02
"""On a share that an engine is told to reserve; told in thousandths of the device."""
FAILURE_MARGIN = 0.05
"""What a claim under which an engine ran out of memory is exceeded by."""

WITHOUT_WEIGHT = frozenset(
    {
        *("temp", "top-k", "top-p", "min-p", "seed", "typical", "ignore-eos", "n-predict", "keep", "special"),
        *("repeat-penalty", "repeat-last-n", "presence-penalty", "frequency-penalty", "mirostat", "mirostat-ent"),
        *("chat-template", "chat-template-kwargs", "jinja", "reasoning", "reasoning-budget", "reasoning-format"),
        *("reasoning-parser", "tool-call-parser", "enable-auto-tool-choice", "response-role", "generation-config"),
        *("served-model-name", "alias", "metrics", "slots", "timeout", "uvicorn-log-level", "disable-log-requests"),
        *("max-model-len", "ctx-size", "context-length", "max-seq-len"),
    }
)
"""Options that change no allocation, and those of the context: what came of them is in the key itself."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is known of one key. `besides_cache_bytes` is what a reserved share held besides its cache."""

    measured: Allocated = field(default_factory=Allocated)
    besides_cache_bytes: int | None = None
    too_little_bytes: int = 0
    """The largest claim on one device, and `too_little_ram_bytes` of RAM, under which it ran out of memory."""
    too_little_ram_bytes: int = 0
    worker: str = ""
    at: str = ""

    @property
    def is_measured(self) -> bool:
        return self.measured != Allocated()


def key_of(
    source: str, facts: ModelFacts | None, found: Estimate, *, backend: str, options: Options, version: str
) -> str:
    """Equal for two loads that allocate alike: the same weights, options that matter, engine build, chip and shape."""
    said = {
        "weights": None if facts is None else (facts.revision, facts.size_bytes, facts.weights_bytes),
        "engine": (backend, version),
        "options": {name: value for name, value in options.items() if name not in WITHOUT_WEIGHT},
        "devices": (sorted(found.claim.device_kinds), sorted(found.claim.chips), found.claim.device_count),
        "shape": (found.context_length, sorted(found.parallel.items()), found.device_layers),
        "budget": found.budget_bytes,
    }
    return f"{source_digest(source)}-{_digest(json.dumps(said, sort_keys=True, default=str))}"


def source_digest(source: str) -> str:
    """What the keys of one source begin with, up to the hyphen."""
    return _digest(source)[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def learned(found: Sequence[Estimate], lessons: Sequence[Sequence[Lesson]]) -> tuple[Estimate, ...]:
    """`lessons` of each estimate, one for every engine build that may run it; an unknown build leaves the estimate.

    Raises:
        Refusal: `measured_does_not_fit` where nothing is left.
    """
    told = [_learned(each, of_it) for each, of_it in zip(found, lessons, strict=True)]
    kept = tuple(each for each in told if isinstance(each, Estimate))
    refusals = [each for each in told if isinstance(each, Refusal)]
    if refusals and not kept:
        raise refusals[-1]
    return kept


def _learned(found: Estimate, lessons: Sequence[Lesson]) -> Estimate | Refusal:
    if found.memory is None or not lessons:
        return found
    answers = [_by_one(found, found.memory, each) for each in lessons]
    refused = next((each for each in answers if isinstance(each, Refusal)), None)
    return refused or max((each for each in answers if isinstance(each, Estimate)), key=_size)


def _size(found: Estimate) -> tuple[int, int]:
    return found.claim.bytes_per_device, found.claim.ram_bytes


def _by_one(found: Estimate, memory: Memory, lesson: Lesson) -> Estimate | Refusal:
    if lesson.is_measured:
        memory = _measured(memory, found.claim, lesson, is_reserving=found.budget_bytes is not None)
    claim = found.claim if not lesson.is_measured else _claim(found, memory, lesson)
    needed = _on_device(memory) if memory.is_measured else 0
    if found.budget_bytes is not None and needed > found.budget_bytes:
        return Refusal(
            "measured_does_not_fit",
            param="source",
            needed_bytes=needed,
            budget_bytes=found.budget_bytes,
            worker=lesson.worker,
            at=lesson.at,
        )
    return replace(found, memory=memory, claim=_beyond_failures(found, claim, lesson))


def _measured(memory: Memory, claim: Claim, lesson: Lesson, *, is_reserving: bool) -> Memory:
    """Term by term what the engine said, the estimate where it said nothing.

    An engine that reserves gives its cache all that is left of its share: the cache that it needs stays the estimate's.
    """
    terms = _reserving_terms(memory, lesson) if is_reserving else _allocated_terms(memory, claim, lesson)
    devices = max(claim.device_count * claim.worker_count, 1)
    sizes = {code: sum(each.size_bytes for each in terms if each.code == code) * devices for code in _BY_NAME}
    rest = sum(each.size_bytes for each in terms) * devices - sum(sizes.values())
    return replace(
        memory,
        weights_bytes=sizes["term_weights"],
        kv_bytes=sizes["term_cache"],
        kv_bytes_per_token=lesson.measured.kv_bytes_per_token or memory.kv_bytes_per_token,
        activation_bytes=sizes["term_activation"],
        overhead_bytes=rest,
        terms=terms,
        is_measured=True,
        measured_on=lesson.worker,
        measured_at=lesson.at,
    )


_BY_NAME = ("term_weights", "term_cache", "term_activation")
_IN_WEIGHTS = "term_repacked"


def _reserving_terms(memory: Memory, lesson: Lesson) -> tuple[Term, ...]:
    said = lesson.measured
    weights = said.weights_bytes or _term(memory, "term_weights")
    cache = [each for each in memory.terms if each.code == "term_cache"]
    if lesson.besides_cache_bytes is None:
        rest = [each for each in memory.terms if each.code not in {"term_weights", "term_cache"}]
    else:
        rest = [Term("term_besides", max(lesson.besides_cache_bytes - weights, 0))]
    return (Term("term_weights", weights), *cache, *rest)


def _allocated_terms(memory: Memory, claim: Claim, lesson: Lesson) -> tuple[Term, ...]:
    """Every buffer that it named in place of ours; what its processes held beyond the sum goes to the runtime."""
    said = lesson.measured
    if claim.device_count:
        on_device = said.bytes_per_device
        return memory.terms if on_device is None else (Term("term_device", on_device),)
    new = {
        "term_weights": said.weights_bytes,
        "term_cache": said.kv_bytes,
        "term_activation": said.activation_bytes,
        "term_outputs": said.overhead_bytes,
    }
    kept = [each for each in memory.terms if not (each.code == _IN_WEIGHTS and said.weights_bytes)]
    terms = [replace(each, size_bytes=new.get(each.code) or each.size_bytes) for each in kept]
    if said.ready_ram_bytes:
        terms = [_process(each, terms, said.ready_ram_bytes) for each in terms]
    beyond = (said.ram_bytes or 0) - sum(each.size_bytes for each in terms)
    return (*terms, Term("term_beyond", beyond)) if beyond > 0 else tuple(terms)


_PROCESS = frozenset({"term_process", "term_runtime"})
_LATER = frozenset({"term_activation", "term_prompts"})
"""What an engine fills only once it is asked something."""


def _process(term: Term, terms: Sequence[Term], ready_bytes: int) -> Term:
    """What was held when the engine was ready and is in none of the buffers that were full by then."""
    if term.code not in _PROCESS:
        return term
    others = sum(each.size_bytes for each in terms if each.code not in _PROCESS | _LATER)
    return replace(term, size_bytes=ready_bytes - others) if ready_bytes > others else term


def _claim(found: Estimate, memory: Memory, lesson: Lesson) -> Claim:
    claim, said = found.claim, lesson.measured
    if found.budget_bytes is not None:
        is_whole = claim.bytes_per_device >= found.budget_bytes
        share = min(ceil(_on_device(memory) * (1 + SHARE_MARGIN)), found.budget_bytes)
        return claim if is_whole else replace(claim, bytes_per_device=share)
    if claim.device_count == 0:
        return replace(claim, ram_bytes=with_margin(memory.total_bytes))
    return replace(
        claim,
        bytes_per_device=with_margin(said.bytes_per_device) if said.bytes_per_device else claim.bytes_per_device,
        ram_bytes=with_margin(said.ram_bytes) if said.ram_bytes else claim.ram_bytes,
    )


def _beyond_failures(found: Estimate, claim: Claim, lesson: Lesson) -> Claim:
    """Never again what it was known to fail with; an engine that reserves can be given its whole share, no more."""
    least = ceil(lesson.too_little_bytes * (1 + FAILURE_MARGIN))
    if found.budget_bytes is not None:
        least = min(least, found.budget_bytes)
    ram = ceil(lesson.too_little_ram_bytes * (1 + FAILURE_MARGIN))
    if claim.bytes_per_device >= least and claim.ram_bytes >= ram:
        return claim
    return replace(claim, bytes_per_device=max(claim.bytes_per_device, least), ram_bytes=max(claim.ram_bytes, ram))


def with_margin(size_bytes: int) -> int:
    return ceil(size_bytes * (1 + MARGIN))


def _on_device(memory: Memory) -> int:
    return sum(each.size_bytes for each in memory.terms)


def _term(memory: Memory, code: str) -> int:
    return sum(each.size_bytes for each in memory.terms if each.code == code)


def lessons_for(keys: Sequence[str], known: Mapping[str, Lesson]) -> tuple[Lesson, ...]:
    """Of all builds that may run it; none where one of them was never measured, for it may need more."""
    found = [known[each] for each in keys if each in known]
    measured = [each for each in found if each.is_measured]
    failed = [replace(each, measured=Allocated()) for each in found]
    return tuple(found) if keys and len(measured) == len(keys) else tuple(failed)
