"""What `doctor` says of a machine with accelerators, from facts alone; pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from backends.compatibility import JUDGED, Host, Verdict, of_driver, order, verdict
from gpustack_lite.cli.checks import Check, Status
from gpustack_lite.cli.host_facts import Engine, Facts
from gpustack_lite.domain import Params, Sentence
from gpustack_lite.wire import Said
from worker.devices.faults import fault_of

GIB = 1024**3
LEAST_THREADS = 16_384
"""A rank of an engine makes some hundred threads, and a host has eight or sixteen of them beside all else."""
LEAST_SHM_BYTES = GIB
SKEW_WARN_SECONDS, SKEW_FAIL_SECONDS = 30.0, 300.0
_BEFORE_950 = ("davinci_manager", "devmm_svm", "hisi_hdc")
_ON_950 = ("davinci_manager", "uburma", "ummu")
_STATUS: Mapping[str, Status] = {"ok": "pass", "unknown": "warn", "wrong": "fail"}


def judged(facts: Facts) -> list[Check]:
    return [found for check in ALL for found in check(facts)]


def of_tools(facts: Facts) -> Iterator[Check]:
    """Each program that was asked for devices."""
    for tool in facts.tools:
        name = tool.command.split()[0].rpartition("/")[2]
        said = Sentence("check_tool", {"command": tool.command}) if tool.said is None else _sentence(tool.said)
        yield Check(name, tool.status, said, None if tool.remedy is None else _sentence(tool.remedy))


def _sentence(said: Said) -> Sentence:
    return Sentence(said.code, said.params)


def of_faults(facts: Facts) -> Iterator[Check]:
    for device in facts.devices:
        if (fault := fault_of(device)) is not None:
            status: Status = "fail" if fault.action == "isolate" else "warn"
            params: Params = {**fault.said.params, "device": device.address}
            said = Sentence("check_fault", {**params, "fault": fault.code, "health": device.health})
            yield Check("fault", status, said, Sentence("remedy_fault", {"device": device.address}))


def of_nodes(facts: Facts) -> Iterator[Check]:
    if "ascend" not in facts.kinds:
        return
    is_950 = any("950" in each.chip for each in facts.devices)
    cards = [f"davinci{each.physical_id}" for each in facts.devices if each.physical_id is not None]
    needed = [*cards, *(_ON_950 if is_950 else _BEFORE_950)]
    missing = [f"/dev/{name}" for name in needed if name not in facts.nodes]
    if missing:
        said = Sentence("check_nodes_missing", {"nodes": ", ".join(missing)})
        yield Check("device_nodes", "fail", said, Sentence("remedy_nodes"))
    else:
        yield Check("device_nodes", "pass", Sentence("check_nodes", {"count": len(needed)}))


def of_versions(facts: Facts) -> Iterator[Check]:
    """Driver, firmware and CANN: there or not, and whether they go together."""
    if "ascend" not in facts.kinds:
        return
    driver, cann = facts.host.driver, facts.host.cann
    yield _there("driver", driver)
    yield _there("cann", cann)
    if facts.host.firmware is not None:
        yield _firmware(facts, facts.host.firmware)
    if driver is not None and cann is not None:
        documented = _verdict("driver_cann", of_driver(cann, driver, facts.name))
        by_files = _by_files(facts, driver, cann)
        yield by_files if documented.status == "warn" and by_files is not None else documented


def _there(name: str, version: str | None) -> Check:
    if version is not None:
        return Check(name, "pass", Sentence(f"check_{name}", {"version": version}))
    return Check(name, "warn", Sentence(f"check_{name}_unknown"), Sentence(f"remedy_{name}_unknown"))


def _firmware(facts: Facts, firmware: str) -> Check:
    """The driver's own file names the firmware that it works with, as ranges."""
    ranges = re.findall(r"\[([^,\]]+),([^\]]+)\]", facts.driver_info.get("compatible_version_fw", ""))
    params: Params = {"version": firmware, "ranges": ", ".join(f"{low} - {high}" for low, high in ranges)}
    if not ranges:
        return Check("firmware", "pass", Sentence("check_firmware", params))
    if any(order(low) <= order(firmware) and order(firmware)[:3] <= order(high) for low, high in ranges):
        return Check("firmware", "pass", Sentence("check_firmware_fits", params))
    return Check("firmware", "fail", Sentence("check_firmware_differs", params), Sentence("remedy_firmware", params))


def _by_files(facts: Facts, driver: str, cann: str) -> Check | None:
    """Each of the two carries an inner version and those of the other's that it works with: one yes will do."""
    inner_driver, inner_cann = facts.driver_info.get("innerversion", ""), facts.cann_info.get("innerversion", "")
    for_cann = re.findall(r"\[([^\]]+)\]", facts.cann_info.get("compatible_version", ""))
    for_driver = re.findall(r"\[([^\]]+)\]", facts.driver_info.get("compatible_version", ""))
    if not inner_driver or not inner_cann or not for_cann:
        return None
    fits = inner_driver.startswith(tuple(for_cann)) or (bool(for_driver) and inner_cann.startswith(tuple(for_driver)))
    params: Params = {"driver": driver, "cann": cann}
    if fits:
        return Check("driver_cann", "pass", Sentence("check_driver_cann_files", params))
    return Check("driver_cann", "warn", Sentence("check_driver_cann_files_differ", params))


def _verdict(name: str, found: Verdict) -> Check:
    return Check(name, _STATUS[found.status], found.said, found.remedy)


def of_engines(facts: Facts) -> Iterator[Check]:
    """Each installed build: against the host, and what its own Python sees."""
    for engine in facts.engines:
        name = f"{engine.version.backend} {engine.version.version}"
        host, ours = Host.of(facts.host.model_dump(), facts.name), engine.version
        chips = {each.chip: each.compute_capability for each in facts.devices if each.kind in ours.device_kinds}
        for chip, compute in sorted(chips.items()) if ours.backend in JUDGED else ():
            yield _verdict(name, verdict(host, chip, ours.backend, ours.version, compute=compute))
        if engine.told or engine.why_not is not None:
            yield _seen_by(facts, engine, name)


def _seen_by(facts: Facts, engine: Engine, name: str) -> Check:
    about: Params = {"engine": name}
    if engine.why_not is not None:
        said = Sentence("check_engine_broken", {**about, "why": engine.why_not})
        return Check(name, "fail", said, Sentence("remedy_engine_broken", about))
    ours = sum(1 for each in facts.devices if each.kind in engine.version.device_kinds)
    told = {key: str(engine.told.get(key) or "-") for key in ("torch", "torch_npu", "vllm", "count")}
    params: Params = {**about, **told, "devices": ours}
    if engine.told.get("count") == ours:
        return Check(name, "pass", Sentence("check_engine_sees", params))
    return Check(name, "warn", Sentence("check_engine_sees_other", params), Sentence("remedy_engine_sees", params))


def of_links(facts: Facts) -> Iterator[Check]:
    """The cards' own network, which only replicas over several machines need: nothing here fails."""
    if "ascend" not in facts.kinds or facts.links_from is None or not facts.links:
        return
    params: Params = {"where": facts.links_from, "count": len(facts.links)}
    down = [str(each.card) for each in facts.links if each.link not in {None, "UP"}]
    without = [str(each.card) for each in facts.links if each.ip is None]
    twice = [ip for ip, count in Counter(each.ip for each in facts.links if each.ip).items() if count > 1]
    for code, those in (("down", down), ("without_ip", without), ("same_ip", twice)):
        if those:
            said = Sentence(f"check_links_{code}", {**params, "those": ", ".join(those)})
            yield Check("hccn", "warn", said, Sentence("remedy_links", params))
    if not (down or without or twice):
        yield Check("hccn", "pass", Sentence("check_links", params))


def of_threads(facts: Facts) -> Iterator[Check]:
    limits = [each for each in (facts.processes_limit, facts.pids_limit) if each is not None]
    if not facts.kinds or not limits:
        return
    said = Sentence("check_threads", {"count": min(limits)})
    if min(limits) >= LEAST_THREADS:
        yield Check("threads", "pass", said)
    else:
        yield Check("threads", "warn", said, Sentence("remedy_threads", {"least": LEAST_THREADS}))


def of_shm(facts: Facts) -> Iterator[Check]:
    if not facts.kinds or facts.shm_bytes is None:
        return
    said = Sentence("check_shm", {"total_bytes": facts.shm_bytes})
    if facts.shm_bytes >= LEAST_SHM_BYTES:
        yield Check("shm", "pass", said)
    else:
        yield Check("shm", "fail", said, Sentence("remedy_shm", {"least_bytes": LEAST_SHM_BYTES}))


def of_reached(facts: Facts) -> Iterator[Check]:
    for each in facts.reached:
        params: Params = {"url": each.url, "why": each.why_not}
        is_server = each.name == "server"
        if each.why_not is None:
            yield Check(each.name, "pass", Sentence("check_reached", params))
        else:
            status: Status = "fail" if is_server else "warn"
            remedy = Sentence("remedy_server_reached" if is_server else "remedy_hub_reached", params)
            yield Check(each.name, status, Sentence("check_not_reached", params), remedy)
        if is_server and each.skew_seconds is not None:
            yield _skew(each.skew_seconds)


def _skew(seconds: float) -> Check:
    said = Sentence("check_skew", {"seconds": round(abs(seconds))})
    if abs(seconds) < SKEW_WARN_SECONDS:
        return Check("clock_server", "pass", said)
    status: Status = "fail" if abs(seconds) >= SKEW_FAIL_SECONDS else "warn"
    return Check("clock_server", status, said, Sentence("remedy_skew"))


def of_prechecker(facts: Facts) -> Iterator[Check]:
    if (said := facts.prechecker) is None:
        return
    lines = [line.strip() for line in said.text.splitlines() if line.strip()]
    params: Params = {"command": "msprechecker precheck", "words": " / ".join(lines[-3:])[:300] or said.ended_by}
    code = "check_prechecker" if said.returncode == 0 else "check_prechecker_bad"
    yield Check("msprechecker", "pass" if said.returncode == 0 else "warn", Sentence(code, params))


ALL: tuple[Callable[[Facts], Iterator[Check]], ...] = (
    *(of_tools, of_faults, of_nodes, of_versions, of_engines, of_links),
    *(of_threads, of_shm, of_reached, of_prechecker),
)
