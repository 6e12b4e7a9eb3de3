import signal
from pathlib import Path

import pytest

from gpustack_lite.cli.children import Children, Ended, delay_seconds
from gpustack_lite.cli.datadir import DataDir
from gpustack_lite.cli.family import Family
from gpustack_lite.cli.record import Record
from gpustack_lite.ports import Identity, Ports
from gpustack_lite.settings import Settings
from tests.fakes.clock import ManualClock
from tests.fakes.population import Population

ROLES = ("server", "gateway-0", "worker")


class Setup:
    def __init__(self, folder: Path) -> None:
        (folder / "run").mkdir()
        (folder / "logs").mkdir()
        (folder / "run/family").write_text("ours")
        self.processes = Population()
        self.clock = ManualClock()
        ports = Ports(clock=self.clock, processes=self.processes)
        self.family = Family(Settings(), DataDir(folder), ports, roles=ROLES)
        self.children = Children(self.family)


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.0), (1, 0.0), (2, 0.2), (3, 0.4), (4, 0.8), (6, 3.2), (7, 5.0), (500, 5.0)]
)
def test_the_first_restart_is_at_once_and_later_ones_wait_up_to_five_seconds(failures: int, seconds: float) -> None:
    assert delay_seconds(failures) == pytest.approx(seconds)


def test_every_role_is_started_once(setup: Setup) -> None:
    assert setup.children.start_due()
    assert not setup.children.start_due()
    assert tuple(setup.children.living) == ROLES


def test_a_child_that_died_is_started_again_at_once(setup: Setup) -> None:
    setup.children.start_due()
    old = setup.children.living["worker"]
    setup.processes.die(old)
    assert setup.children.notice_ends() == [Ended("worker", None)]
    assert setup.children.start_due()
    assert setup.children.living["worker"] != old


def test_a_child_that_keeps_dying_is_waited_for(setup: Setup) -> None:
    began_at = setup.clock.monotonic()
    for _ in range(3):
        setup.children.start_due()
        setup.processes.die(setup.children.living["worker"])
        setup.children.notice_ends()
        setup.clock.advance(setup.children.seconds_to_next_start() or 0)
    assert setup.clock.monotonic() - began_at == pytest.approx(0.2 + 0.4)


def test_a_child_that_lived_ten_seconds_begins_again_without_a_delay(setup: Setup) -> None:
    for _ in range(4):
        setup.children.start_due()
        setup.clock.advance(10)
        setup.processes.die(setup.children.living["server"])
        setup.children.notice_ends()
        assert setup.children.seconds_to_next_start() == 0


def test_a_program_that_cannot_be_started_is_tried_again_later(setup: Setup) -> None:
    setup.processes.is_broken = True
    setup.children.start_due()
    setup.children.start_due()
    assert setup.children.living == {}
    assert setup.children.seconds_to_next_start() == pytest.approx(0.2)


def record(**children: Identity) -> Record:
    named = {role.replace("_", "-"): identity for role, identity in children.items()}
    return Record(Identity(1, 1, "boot"), "http://127.0.0.1:1", children=named)


def test_children_of_an_earlier_supervisor_are_taken_over(setup: Setup) -> None:
    server, gateway = setup.processes.add("ours"), setup.processes.add("ours")
    setup.children.adopt(record(server=server, gateway_0=gateway))
    assert setup.children.living == {"server": server, "gateway-0": gateway}
    assert setup.processes.sent == []


def test_a_process_without_our_mark_is_never_taken_over(setup: Setup) -> None:
    stranger = setup.processes.add("somebody else's")
    setup.children.adopt(record(server=stranger))
    assert setup.children.living == {}
    assert setup.processes.sent == []


@pytest.mark.parametrize(
    ("role", "signum"), [("gateway_7", signal.SIGHUP), ("worker", signal.SIGTERM)], ids=["gateway", "worker"]
)
def test_a_child_that_has_no_role_any_more_is_told_to_leave(tmp_path: Path, role: str, signum: int) -> None:
    setup = Setup(tmp_path)
    family = Family(Settings(), setup.family.data_dir, setup.family.ports, roles=("server", "gateway-0"))
    children, old = Children(family), setup.processes.add("ours")
    children.adopt(record(**{role: old}))
    assert children.leaving == [old]
    assert setup.processes.sent == [(old, signum)]


def test_a_marked_process_that_no_record_names_leaves_quietly(setup: Setup) -> None:
    stray = setup.processes.add("ours")
    setup.children.adopt(None)
    assert setup.processes.sent == [(stray, signal.SIGHUP)]
    assert setup.children.leaving == [stray]
