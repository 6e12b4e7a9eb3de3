"""What a worker makes of tools that answer, fail, hang and come back."""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gpustack_lite.domain import Device
from gpustack_lite.messages import CATALOGUE
from gpustack_lite.ports import Answer, Identity, Ports
from gpustack_lite.settings import Settings
from tests.fakes import npu_smi, nvidia_smi
from tests.fakes.clock import ManualClock
from tests.fakes.processes import FakeProcesses
from worker.devices import detect as detect_module
from worker.devices.complaints import complaint
from worker.devices.detect import Detector, aged, merged, rest_seconds, with_memory
from worker.devices.tools import TOOLS, environment

GIB = 1024**3


class Playing(FakeProcesses):
    """Each program answers as its described machine does, without a process."""

    def __init__(self, **answers: Callable[..., Answer]) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[str] = []

    def ask(self, argv: Sequence[str], **_: object) -> Answer:
        name = Path(argv[0]).name
        self.asked.append(" ".join([name, *argv[1:]]))
        return self.answers[name.replace("-", "_")](*argv[1:])


@dataclass
class Room:
    """A detector on a made-up machine: its programs, its files below `root`, its clock."""

    playing: Playing
    root: Path
    clock: ManualClock = field(default_factory=ManualClock)

    def detector(self, uid: str | None = None) -> Detector:
        ports = replace(Ports(), processes=self.playing, clock=self.clock)  # type: ignore[arg-type]
        return Detector(Settings(), ports, lambda: "w", None, root=self.root, uid=uid)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Room]:
    """Programs on PATH are empty files: `Playing` answers for them."""

    def make(**answers: Callable[..., Answer]) -> Room:
        for name in answers:
            program = tmp_path / "bin" / name.replace("_", "-")
            program.parent.mkdir(exist_ok=True)
            program.touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        monkeypatch.setattr(detect_module, "TOOLS", tuple(replace(tool, places=()) for tool in TOOLS))
        return Room(Playing(**answers), tmp_path / "root")

    return make


def ascend(machine: dict) -> Callable[..., Answer]:
    def answer(*arguments: str) -> Answer:
        try:
            return Answer(npu_smi.said(machine, *arguments) + "\n", returncode=0)
        except npu_smi.Failed as failed:
            return Answer(failed.text + "\n", returncode=failed.code & 0xFF)

    return answer


def nvidia(machine: dict) -> Callable[..., Answer]:
    def answer(*arguments: str) -> Answer:
        text, code = nvidia_smi.said(machine, *arguments)
        return Answer(text + "\n", returncode=code)

    return answer


def says(text: str = "", **more: object) -> Callable[..., Answer]:
    return lambda *_: Answer(text, **({"returncode": 0} | more))


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_without_tools_the_cpu_is_the_device(room: Callable[..., Room]) -> None:
    inventory = room().detector().look()
    assert [each.kind for each in inventory.devices] == ["cpu"]
    assert inventory.tools == ()
    assert inventory.host.arch


def test_an_ascend_host_with_versions_from_its_files(room: Callable[..., Room]) -> None:
    here = room(npu_smi=ascend(npu_smi.a2()))
    write(
        here.root,
        {
            **{f"dev/davinci{n}": "" for n in range(8)},
            "dev/davinci_manager": "",
            "etc/ascend_install.info": "Driver_Install_Path_Param=/usr/local/Ascend\nDriver_Install_Status=complete\n",
            "etc/os-release": 'NAME=openEuler\nPRETTY_NAME="openEuler 24.03 (LTS)"\n',
            "usr/local/Ascend/driver/version.info": "Version=25.2.0\nascendhal_version=7.35.23\n",
            "usr/local/Ascend/firmware/version.info": "Version=7.7.0.1.231\n",
            "usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info": "version=8.2.RC1\n",
            "sys/devices/system/node/node0/cpulist": "0-23\n",
            "sys/devices/system/node/node1/cpulist": "24-47\n",
        },
    )
    inventory = here.detector().look()
    assert len(inventory.devices) == 8
    assert [each.numa for each in inventory.devices] == [0] * 4 + [1] * 4
    assert {each.serial for each in inventory.devices} == {f"SN{n:04d}" for n in range(8)}
    host = inventory.host
    assert (host.driver, host.firmware, host.cann, host.os) == (
        "25.2.0",
        "7.7.0.1.231",
        "8.2.RC1",
        "openEuler 24.03 (LTS)",
    )
    assert [(each.command, each.status) for each in inventory.tools] == [("npu-smi info", "pass")]


def test_versions_by_the_tool_where_there_are_no_files(room: Callable[..., Room]) -> None:
    host = room(npu_smi=ascend(npu_smi.a2())).detector().look().host
    assert (host.driver, host.firmware, host.cann) == ("24.1.rc2", "7.5.0.1.129", None)


def test_what_does_not_change_is_asked_once(room: Callable[..., Room]) -> None:
    here = room(npu_smi=ascend(npu_smi.a2(2)))
    detector = here.detector()
    detector.look()
    first = list(here.playing.asked)
    detector.look()
    assert "npu-smi info -m" in first
    assert here.playing.asked[len(first) :] == ["npu-smi info"]


def test_what_failed_is_asked_again_a_few_times_and_then_left(room: Callable[..., Room]) -> None:
    machine = npu_smi.a2(1)
    del machine["topology"]
    here = room(npu_smi=ascend(machine))
    detector = here.detector()
    for _ in range(6):
        detector.look()
    assert here.playing.asked.count("npu-smi info -t topo") == 3
    assert here.playing.asked.count("npu-smi info -m") == 1


def test_a_chip_that_is_not_well_is_asked_for_its_codes(room: Callable[..., Room]) -> None:
    machine = npu_smi.a2(2)
    machine["cards"][1]["chips"][0] |= {"health": "Critical", "codes": ["80E18400"]}
    here = room(npu_smi=ascend(machine))
    devices = here.detector().look().devices
    assert [(each.health, each.error_codes) for each in devices] == [("ok", ()), ("critical", ("80E18400",))]
    assert [asked for asked in here.playing.asked if "health" in asked] == ["npu-smi info -t health -i 1 -c 0"]


@pytest.mark.parametrize(
    ("fault", "code", "remedy"),
    [
        ("8005", "tool_driver_unreachable", "remedy_ascend_driver"),
        ("8005-console", "tool_driver_unreachable", "remedy_ascend_driver"),
        ("8020", "tool_device_held", "remedy_device_held"),
        ("libc_sec", "tool_library_missing", "remedy_ascend_library"),
        ("no_card", "tool_no_devices", "remedy_tool_no_devices"),
        ("not_permitted", "tool_not_permitted", "remedy_tool_not_permitted"),
    ],
)
def test_an_error_on_stdout_becomes_a_sentence_and_a_remedy(
    room: Callable[..., Room], fault: str, code: str, remedy: str
) -> None:
    inventory = room(npu_smi=ascend(npu_smi.a2(fault=fault))).detector().look()
    report = inventory.tools[0]
    assert report.said is not None
    assert report.remedy is not None
    assert (report.said.code, report.remedy.code) == (code, remedy)
    assert [each.kind for each in inventory.devices] == ["cpu"]


@pytest.mark.parametrize("ended_by", ["deadline", "still_hanging", "bound", "not_started"])
def test_a_program_that_does_not_end_well_becomes_a_sentence(ended_by: str) -> None:
    report = complaint("npu-smi info", "", ended_by, deadline_seconds=20, why="Exec format error")
    assert report.said is not None
    assert report.remedy is not None
    assert {report.said.code, report.remedy.code} <= set(CATALOGUE)
    assert report.status == "fail"


def test_nonsense_is_quoted() -> None:
    report = complaint("mx-smi", "\x1b[31mwarning\nSegmentation fault\n\n", "itself")
    assert report.said is not None
    assert report.said.params["words"] == "Segmentation fault"


def test_a_tool_that_fails_keeps_its_devices_without_readings_and_then_without_work(room: Callable[..., Room]) -> None:
    here = room(npu_smi=ascend(npu_smi.a2(2)))
    detector = here.detector()
    detector.look()
    here.playing.answers["npu_smi"] = says(ended_by="deadline", returncode=None)
    once = detector.look()
    assert [(each.schedulable, each.health, each.memory_used_bytes) for each in once.devices] == [
        (True, "ok", None)
    ] * 2
    assert [each.memory_total_bytes for each in once.devices] == [64 * GIB] * 2
    here.clock.advance(9)
    assert detector.look().devices == once.devices, "asked again only after ten seconds"
    here.clock.advance(2)
    assert [(each.schedulable, each.health) for each in detector.look().devices] == [(False, "unknown")] * 2
    here.playing.answers["npu_smi"] = ascend(npu_smi.a2(2))
    here.clock.advance(21)
    assert [each.schedulable for each in detector.look().devices] == [True] * 2


def test_a_look_that_takes_long_is_made_less_often() -> None:
    assert [rest_seconds(took, 0) for took in (0.2, 1.5, 4, 20, 90)] == [0, 0, 20, 100, 300]
    assert [rest_seconds(0.1, failures) for failures in (1, 2, 3, 20)] == [10, 20, 40, 300]
    assert aged((), 5) == ()


def test_latest_looks_only_when_nothing_was_seen_yet(room: Callable[..., Room]) -> None:
    here = room(npu_smi=ascend(npu_smi.a2(1)))
    detector = here.detector()
    assert detector.latest().devices[0].chip == "910B3"
    before = len(here.playing.asked)
    detector.latest()
    assert len(here.playing.asked) == before


def test_a_tool_gets_no_secret_and_finds_the_drivers_libraries(tmp_path: Path) -> None:
    ours = {"PATH": "/bin", "HF_TOKEN": "secret", "GPUSTACK_LITE_API_KEY": "secret", "LANG": "zh_CN.UTF-8"}
    assert environment(ours, tmp_path) == {"PATH": "/bin", "LANG": "zh_CN.UTF-8", "LC_ALL": "C"}
    (tmp_path / "driver/lib64/common").mkdir(parents=True)
    libraries = environment({"LD_LIBRARY_PATH": "/own"}, tmp_path)["LD_LIBRARY_PATH"]
    assert libraries == f"/own:{tmp_path}/driver/lib64/common:{tmp_path}/driver/lib64"


def test_device_nodes_without_the_tool_are_told(room: Callable[..., Room]) -> None:
    here = room()
    write(here.root, {"dev/davinci0": "", "dev/nvidiactl": ""})
    reports = here.detector().look().tools
    assert [(each.command, each.said.code) for each in reports if each.said] == [
        ("npu-smi", "tool_missing"),
        ("nvidia-smi", "tool_missing"),
    ]


def test_a_driver_that_is_half_installed_is_told(room: Callable[..., Room]) -> None:
    here = room(npu_smi=ascend(npu_smi.a2(1, incomplete=True)))
    write(here.root, {"etc/ascend_install.info": "Driver_Install_Status=failed\n"})
    inventory = here.detector().look()
    assert [each.status for each in inventory.tools] == ["warn", "warn"]
    assert inventory.devices[0].schedulable


def test_two_vendors_in_one_machine_keep_apart_and_engines_hear_the_vendors_own_numbers(
    room: Callable[..., Room],
) -> None:
    machine = nvidia_smi.machine(nvidia_smi.gpu(0), nvidia_smi.gpu(1))
    devices = room(npu_smi=ascend(npu_smi.a2(2)), nvidia_smi=nvidia(machine)).detector().look().devices
    assert [(each.kind, each.index, each.visible_name) for each in devices] == [
        ("ascend", 0, "0"),
        ("ascend", 1, "1"),
        ("cuda", 1000, "0"),
        ("cuda", 1001, "1"),
    ]
    assert merged([(), devices[:1]]) == devices[:1]


def test_an_nvidia_host_whose_driver_knows_fewer_fields(room: Callable[..., Room]) -> None:
    card = nvidia_smi.gpu(0, fields={"compute_cap": None})
    here = room(nvidia_smi=nvidia(nvidia_smi.machine(card, unknown_fields=["compute_cap"])))
    detector = here.detector()
    inventory = detector.look()
    assert (inventory.devices[0].chip, inventory.devices[0].compute_capability) == ("A100-SXM4-40GB", None)
    assert (inventory.host.nvidia_driver, inventory.host.cuda) == ("550.54.15", "12.4")
    detector.look()
    assert sum("compute_cap" in asked for asked in here.playing.asked) == 1


@pytest.mark.parametrize(
    ("fault", "code"),
    [("mismatch", "tool_driver_mismatch"), ("no_driver", "tool_driver_unreachable"), ("no_devices", "tool_no_devices")],
)
def test_what_nvidia_smi_says_of_its_driver(room: Callable[..., Room], fault: str, code: str) -> None:
    report = room(nvidia_smi=says(nvidia_smi.FAULTS[fault][0])).detector().look().tools[0]
    assert report.said is not None
    assert report.said.code == code


def test_unified_memory_is_the_machines(room: Callable[..., Room]) -> None:
    """Case C03: one device, whose memory is the RAM."""
    card = nvidia_smi.gpu(0, "NVIDIA GB10", fields={"memory.total": None, "memory.used": None})
    inventory = room(nvidia_smi=nvidia(nvidia_smi.machine(card))).detector().look()
    device = inventory.devices[0]
    assert device.unified_memory
    assert device.memory_total_bytes == inventory.machine.ram_total_bytes
    assert with_memory((replace(device, unified_memory=False),), inventory.machine)[0].memory_total_bytes


def test_slices_of_a_card(room: Callable[..., Room]) -> None:
    """Case C05."""
    slices = [{"profile": "3g.40gb", "uuid": "MIG-a"}, {"profile": "2g.20gb", "uuid": "MIG-b"}]
    cut = nvidia_smi.gpu(0, fields={"mig.mode.current": "Enabled", "memory.used": None}, mig=slices)
    devices = room(nvidia_smi=nvidia(nvidia_smi.machine(cut, nvidia_smi.gpu(1)))).detector().look().devices
    assert [(each.index, each.visible_name, each.schedulable) for each in devices] == [
        (0, "0", False),
        (1, "1", True),
        (100, "MIG-a", True),
        (101, "MIG-b", True),
    ]


def test_a_parser_that_breaks_stops_nobody(room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: object) -> None:
        raise RuntimeError("a fault of ours")

    here = room(npu_smi=ascend(npu_smi.a2(1)))
    monkeypatch.setattr(detect_module, "TOOLS", (replace(TOOLS[0], look=breaks, places=()),))
    inventory = here.detector().look()
    assert [each.kind for each in inventory.devices] == ["cpu"]
    assert [each.said.code for each in inventory.tools if each.said] == ["tool_answer_unread"]


def test_runs_that_an_earlier_process_of_this_worker_left_hanging_are_ended(room: Callable[..., Room]) -> None:
    here = room()
    ours, others = Identity(1, 1, "b"), Identity(2, 1, "b")
    here.playing.alive = {ours, others}
    here.playing.marks = {ours: "uid-1", others: "uid-2"}
    here.detector(uid="uid-1").look()
    assert here.playing.signals == [(1, signal.SIGKILL)]


def test_the_order_of_what_is_found(room: Callable[..., Room]) -> None:
    one = Device("w", 0, "mlu", "MLU370", GIB)
    assert [each.visible_name for each in merged([(one,), (one,)])] == ["0", "0"]
