"""Whether an engine's build can run on a host: driver, firmware, CANN or CUDA and chip against what is documented."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from backends.compatibility_data import (
    BUILDS,
    CANN_DRIVERS,
    CAPABILITIES,
    CHIPS,
    CUDAS,
    VLLM_CAPABILITY,
    VLLM_WHEELS,
    Build,
    Cuda,
    Drivers,
)
from gpustack_lite.domain import Params, Sentence

Status = Literal["ok", "wrong", "unknown"]
JUDGED = frozenset({*CHIPS, "vllm"})
"""The backends of which something is documented."""
_PART = re.compile(r"\d+|rc", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Host:
    """What a machine says of itself; None where it does not say."""

    driver: str | None = None
    cann: str | None = None
    nvidia_driver: str | None = None
    name: str = ""

    @staticmethod
    def of(report: Mapping[str, Any], name: str) -> "Host":
        """From a wire.HostReport as a document."""
        return Host(report.get("driver"), report.get("cann"), report.get("nvidia_driver"), name)


class Verdict(NamedTuple):
    """`said` is why, and `remedy` names what would be right; an unknown combination says what is not documented."""

    status: Status
    said: Sentence
    remedy: Sentence | None = None
    source: str | None = None


@lru_cache(maxsize=16384)
def verdict(
    host: Host,
    chip: str,
    backend: str,
    version: str | None,
    *,
    brings_cann: bool = False,
    compute: str | None = None,
) -> Verdict:
    """`brings_cann`: the build has its own CANN (an image), so that only the driver is the host's.

    `compute` is the compute capability that an NVIDIA device tells; without it, its name decides.

    Only what is documented not to work is wrong; the first such thing speaks.
    """
    has = capability(chip, compute)
    found = list(_verdicts(host, chip, backend, version, brings_cann=brings_cann, has=has))
    for status in ("wrong", "unknown", "ok"):
        for each in found:
            if each.status == status:
                return each
    return Verdict("unknown", Sentence("compatibility_unlisted", {"backend": backend, "chip": chip}))


def _verdicts(
    host: Host, chip: str, backend: str, version: str | None, *, brings_cann: bool, has: float | None
) -> Iterator[Verdict]:
    if backend in CHIPS:
        yield of_chip(backend, chip)
        yield from _of_ascend(host, backend, plain(version), brings_cann)
    elif backend == "vllm" and has is not None:
        yield from _of_cuda(host, chip, version, has)


def of_chip(backend: str, chip: str) -> Verdict:
    runs_on, not_on, source = CHIPS[backend]
    name, params = _family(chip), {"backend": backend, "chip": chip, "chips": ", ".join(runs_on)}
    if name.startswith(not_on) or (name == "910" and "910A" in not_on):
        return Verdict("wrong", Sentence("engine_not_on_chip", params), Sentence("remedy_engine_chips", params), source)
    status: Status = "ok" if name.startswith(runs_on) else "unknown"
    return Verdict(
        status, Sentence("engine_on_chip" if status == "ok" else "engine_chip_unlisted", params), None, source
    )


def _family(chip: str) -> str:
    """As npu-smi prints it: "Ascend910" alone is the A3, whose full name is 910_93xx."""
    upper = chip.upper().replace(" ", "")
    return "A3" if upper == "ASCEND910" else upper.removeprefix("ASCEND")


def _of_ascend(host: Host, backend: str, version: str | None, brings_cann: bool) -> Iterator[Verdict]:
    build = build_of(backend, version)
    if build is None:
        yield Verdict("unknown", Sentence("engine_version_unlisted", {"backend": backend, "version": version}))
        return
    if host.cann is not None and not brings_cann:
        yield of_cann(build, host.cann, host.name)
    if host.driver is None and (host.cann is None or brings_cann):
        yield Verdict("unknown", Sentence("host_tells_no_driver", {"host": host.name, "backend": backend}))
    if host.driver is not None:
        cann = host.cann if host.cann is not None and not brings_cann else build.cann[0].removeprefix(">=")
        yield of_driver(cann, host.driver, host.name, backend)


def of_cann(build: Build, cann: str, host: str = "") -> Verdict:
    needed = " / ".join(build.cann)
    about: Params = {"host": host, "backend": build.backend, "version": build.version}
    params: Params = {**about, "needed": needed, "cann": cann}
    if any(_accepts(each, cann) for each in build.cann):
        return Verdict("ok", Sentence("cann_fits", params), None, build.source)
    others = [each.version for each in BUILDS if each.backend == build.backend and _has(each, cann)]
    remedy = Sentence("remedy_engine_for_cann", {**params, "versions": ", ".join(others)})
    return Verdict(
        *("wrong", Sentence("cann_differs", params), remedy if others else Sentence("remedy_cann", params)),
        build.source,
    )


def _has(build: Build, cann: str) -> bool:
    return any(_accepts(each, cann) for each in build.cann)


def _accepts(wanted: str, cann: str) -> bool:
    """ "9.2" stands for all of 9.2."""
    if wanted.startswith(">="):
        return order(cann) >= order(wanted[2:])
    return _begins(cann, wanted)


def of_driver(cann: str, driver: str, host: str = "", backend: str = "") -> Verdict:
    row = drivers_of(cann)
    params: Params = {"host": host, "driver": driver, "cann": cann}
    if row is None:
        return Verdict("unknown", Sentence("cann_drivers_unlisted", params))
    params = {**params, "drivers": ", ".join(row.listed), "oldest": row.oldest}
    if any(_begins(driver, family) for family in row.listed) and not _is_older(driver, row):
        return Verdict("ok", Sentence("driver_fits", params), None, row.source)
    if not _is_older(driver, row):
        return Verdict("unknown", Sentence("driver_unlisted", params), None, row.source)
    return Verdict("wrong", Sentence("driver_too_old", params), _instead(backend, driver, params), row.source)


def _instead(backend: str, driver: str, params: Params) -> Sentence:
    fitting = [each.version for each in BUILDS if each.backend == backend and _runs_on(each, driver)]
    if fitting:
        return Sentence("remedy_driver_or_engine", {**params, "backend": backend, "versions": ", ".join(fitting)})
    return Sentence("remedy_driver", params)


def _runs_on(build: Build, driver: str) -> bool:
    return of_driver(build.cann[0].removeprefix(">="), driver).status == "ok"


def _is_older(driver: str, row: Drivers) -> bool:
    return row.oldest is not None and order(driver) < order(row.oldest)


def _of_cuda(host: Host, chip: str, version: str | None, has: float) -> Iterator[Verdict]:
    name = plain(version)
    wheels = next((each for each in VLLM_WHEELS if name is not None and order(name) >= order(each.since)), None)
    if wheels is None:
        yield Verdict("unknown", Sentence("engine_version_unlisted", {"backend": "vllm", "version": version}))
        return
    cuda_version = _local_cuda(version or "") or wheels.cuda
    cuda = next((each for each in CUDAS if each.major == int(cuda_version.split(".")[0])), None)
    params: Params = {"backend": "vllm", "version": name, "chip": chip, "cuda": cuda_version, "capability": has}
    yield _of_capability(str(name), has, cuda, params)
    if host.nvidia_driver is None:
        yield Verdict("unknown", Sentence("host_tells_no_driver", {"host": host.name, "backend": "vllm"}))
    elif cuda is not None:
        yield _of_nvidia_driver(host.nvidia_driver, cuda, {**params, "host": host.name}, wheels.source)


def _of_capability(version: str, has: float, cuda: Cuda | None, params: Params) -> Verdict:
    _, lowest, source = next(each for each in VLLM_CAPABILITY if order(version) >= order(each[0]))
    if cuda is not None and cuda.capability is not None and cuda.capability > lowest:
        lowest, source = cuda.capability, cuda.source
    params = {**params, "needed": lowest}
    if has >= lowest:
        return Verdict("ok", Sentence("capability_fits", params), None, source)
    return Verdict("wrong", Sentence("capability_too_low", params), Sentence("remedy_capability", params), source)


def _of_nvidia_driver(driver: str, cuda: Cuda, params: Params, source: str) -> Verdict:
    params = {**params, "driver": driver, "needed": cuda.driver}
    source = f"{source}; {cuda.source}"
    if order(driver) >= order(cuda.driver):
        return Verdict("ok", Sentence("nvidia_driver_fits", params), None, source)
    return Verdict("wrong", Sentence("nvidia_driver_too_old", params), _other_cuda(driver, params), source)


def _other_cuda(driver: str, params: Params) -> Sentence:
    """The newest CUDA that this driver runs, where vLLM has wheels of it."""
    major = next((each.major for each in CUDAS if order(driver) >= order(each.driver)), None)
    older = [each for each in VLLM_WHEELS if major is not None and int(each.cuda.split(".")[0]) <= major]
    if not older:
        return Sentence("remedy_nvidia_driver", params)
    newer = VLLM_WHEELS[VLLM_WHEELS.index(older[0]) - 1].since
    return Sentence("remedy_nvidia_driver_or_engine", {**params, "before": newer, "other_cuda": older[0].cuda})


def capability(chip: str, told: str | None = None) -> float | None:
    if told is not None and re.fullmatch(r"\d{1,3}\.\d{1,2}", told):
        return float(told)
    words = re.split(r"[^A-Z0-9]+", chip.upper())
    return next((CAPABILITIES[word] for word in words if word in CAPABILITIES), None)


def build_of(backend: str, version: str | None) -> Build | None:
    """A post-release of a listed version counts as that version."""
    rows = {each.version: each for each in BUILDS if each.backend == backend}
    if version is None:
        return None
    return rows.get(version) or rows.get(re.sub(r"\.?post\d+$", "", version))


def drivers_of(cann: str) -> Drivers | None:
    matching = [each for each in CANN_DRIVERS if _begins(cann, each.cann)]
    return max(matching, key=lambda each: len(each.cann), default=None)


class Change(NamedTuple):
    """What becomes of one listed build."""

    backend: str
    version: str
    before: Verdict
    after: Verdict


def plan(host: Host, chip: str, changes: Mapping[str, str]) -> tuple[Change, ...]:
    """Every listed build on the host as it is, and as it would be with these fields of `Host` changed."""
    changed = replace(host, **changes)
    if capability(chip) is not None:
        listed = [("vllm", each.since) for each in VLLM_WHEELS]
    else:
        listed = [(each.backend, each.version) for each in BUILDS]
    return tuple(
        Change(name, version, verdict(host, chip, name, version), verdict(changed, chip, name, version))
        for name, version in listed
    )


def plain(version: str | None) -> str | None:
    """The release in a version as we name it: "path-0.23.0+empty" is 0.23.0."""
    return None if version is None else version.removeprefix("path-").partition("+")[0]


def _local_cuda(version: str) -> str | None:
    """ "0.20.0+cu129" was made with CUDA 12.9."""
    match = re.search(r"\+cu(\d\d)(\d)", version)
    return None if match is None else f"{match[1]}.{match[2]}"


def order(version: str) -> tuple[tuple[int, int], ...]:
    """8.2.RC1 and 8.2rc1 come before 8.2.0; what is no number or RC is left out."""
    parts = [part.lower() for part in _PART.findall(version.partition("-")[0].partition("+")[0])]
    found: list[tuple[int, int]] = []
    for index, part in enumerate(parts):
        if part != "rc":
            is_candidate = index > 0 and parts[index - 1] == "rc"
            found.append((0 if is_candidate else 1, int(part)))
    return tuple(found)


def _begins(version: str, prefix: str) -> bool:
    whole, part = order(version), order(prefix)
    return whole[: len(part)] == part
