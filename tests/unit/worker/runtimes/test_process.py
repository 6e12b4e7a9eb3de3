"""How the processes of one instance are ended."""

import signal

from gpustack_lite.ports import Identity, Ports
from tests.fakes.clock import ManualClock
from tests.fakes.processes import FakeProcesses
from worker.runtimes.process import Tree, end, grown, living

ROOT = Identity(10, 1, "boot")
CHILD = Identity(11, 2, "boot")
ESCAPED = Identity(12, 3, "boot")
FOREIGN = Identity(99, 9, "boot")
TERM, KILL = signal.SIGTERM, signal.SIGKILL


def ports(processes: FakeProcesses) -> Ports:
    return Ports(clock=ManualClock(), processes=processes)


async def test_all_get_term_and_nobody_foreign_does() -> None:
    processes = FakeProcesses({ROOT, CHILD, ESCAPED, FOREIGN}, children={ROOT: [CHILD]}, marks={ESCAPED: "w:1"})
    await end(ports(processes), Tree("w:1", ROOT), grace_seconds=10)
    assert processes.signals == [(10, TERM), (11, TERM), (12, TERM)]
    assert processes.alive == {FOREIGN}


async def test_who_ignores_term_is_killed_after_the_grace() -> None:
    processes = FakeProcesses({ROOT, CHILD}, children={ROOT: [CHILD]}, stubborn=[CHILD])
    clock = ManualClock()
    await end(Ports(clock=clock, processes=processes), Tree("w:1", ROOT, frozenset({CHILD})), grace_seconds=10)
    assert (11, KILL) in processes.signals
    assert (10, KILL) not in processes.signals
    assert clock.monotonic() >= 1010
    assert not processes.alive


async def test_a_dead_root_does_not_hide_what_it_left() -> None:
    processes = FakeProcesses({CHILD, ESCAPED}, sessions={ROOT: [CHILD]})
    await end(ports(processes), Tree("w:1", ROOT, frozenset({ESCAPED})), grace_seconds=10)
    assert not processes.alive


async def test_a_recycled_pid_is_never_signalled() -> None:
    recycled = Identity(ROOT.pid, 500, "boot")
    processes = FakeProcesses({recycled})
    await end(ports(processes), Tree("w:1", ROOT, frozenset({CHILD})), grace_seconds=10)
    assert processes.signals == []
    assert processes.alive == {recycled}


async def test_a_child_that_appears_at_the_end_is_ended_too() -> None:
    class Forking(FakeProcesses):
        """Its root leaves a marked child behind when it ends."""

        def send(self, identity: Identity, signum: int) -> bool:
            if identity == ROOT and ROOT in self.alive:
                self.alive.add(ESCAPED)
                self.marks[ESCAPED] = "w:1"
            return super().send(identity, signum)

    processes = Forking({ROOT})
    await end(ports(processes), Tree("w:1", ROOT), grace_seconds=10)
    assert not processes.alive


def test_the_tree_remembers_those_it_saw_while_its_root_lived() -> None:
    processes = FakeProcesses({ROOT, CHILD, ESCAPED}, children={ROOT: [CHILD]}, sessions={ROOT: [ESCAPED]})
    tree = grown(processes, Tree("w:1", ROOT))
    processes.alive.discard(ROOT)
    processes.children, processes.sessions = {}, {}
    assert living(processes, tree) == {CHILD, ESCAPED}
    assert grown(processes, tree) == tree
