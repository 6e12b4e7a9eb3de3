"""Runs a schedule step by step under the invariants, then heals everything and asks that the world converges."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpustack_lite.db.members import devices_on, holders, workers_of
from gpustack_lite.db.nodes import nodes
from gpustack_lite.db.queries.placing import claim_of
from gpustack_lite.db.tables import ModelInstance
from gpustack_lite.domain import Placement, PlacementWish
from gpustack_lite.lifecycle import ENDING, State
from scheduler import place
from scheduler.node import RESERVE_DIVISOR, WHOLE_CHIP_KINDS
from tests.sim import invariants
from tests.sim.facts import Address, Held
from tests.sim.rules import Rules
from tests.sim.steps import Setup, Step, schedule, setup
from tests.sim.world import World, build

SETTLING_ROUNDS = 400


@dataclass(frozen=True)
class Outcome:
    """`violations` are those of the first step that had any."""

    violations: tuple[str, ...]
    trace: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


@dataclass
class Auditor:
    """Holds the invariants against a world; remembers how far it has read the diaries."""

    world: World
    moves_read: int = 0
    commits_read: int = 0
    placed_read: int = 0
    states: dict[int, State] = field(default_factory=dict)
    revisions: dict[int, tuple[int, int]] = field(default_factory=dict)
    last_at: int = 0

    def violations(self) -> list[str]:
        world, server = self.world, self.world.server
        limits, whole, processes, claims = self._limits(), self._whole(), self._processes(), self._claims()
        moved, self.moves_read = server.moved[self.moves_read :], len(server.moved)
        commits, self.commits_read = server.commits[self.commits_read :], len(server.commits)
        placed, self.placed_read = server.placed[self.placed_read :], len(server.placed)
        before, self.revisions = self.revisions, {m.id: _position(m.on_disk) for m in world.machines.values()}
        found = [
            *invariants.devices_hold_what_they_can(limits, processes + claims),
            *invariants.placements_leave_others_alone(limits, processes + claims, placed),
            *invariants.placed_once(server.placed if placed else ()),
            *invariants.one_process_each(self._shares()),
            *invariants.claims_outlive_processes(processes, claims),
            *invariants.chips_are_whole(whole, processes + claims),
            *invariants.moves_are_allowed(moved, self.states, self.last_at),
            *invariants.never_goes_back(before, self.revisions),
            *invariants.only_the_leader_writes(commits),
            *invariants.usage_counts_once(server.ledger.rows, world.gateway.truth),
        ]
        self.last_at = max([self.last_at, *(each.at for each in moved)])
        return found

    def _limits(self) -> dict[Address, int]:
        return {
            (machine.id, index): total - total // RESERVE_DIVISOR
            for machine in self.world.machines.values()
            for index, total in machine.capacity_bytes.items()
        }

    def _whole(self) -> list[Address]:
        every = [each for devices in self.world.server.devices.values() for each in devices]
        return [(each.worker_id, each.index) for each in every if each.kind in WHOLE_CHIP_KINDS]

    def _processes(self) -> list[Held]:
        """The truth, whatever the server thinks."""
        return [
            Held(each.instance.id, machine.id, tuple(each.instance.devices), each.instance.claim.bytes_per_device)
            for machine in self.world.machines.values()
            for each in machine.processes.values()
        ]

    def _claims(self) -> list[Held]:
        """What the server holds, also for those of which it does not know whether they live."""
        rows = [row for row in self.world.server.instances.values() if row.holds_claim]
        return [
            Held(r.id or 0, worker, tuple(devices_on(r, worker)), claim_of(r.claim).bytes_per_device)
            for r in rows
            for worker in holders(r)
        ]

    def _shares(self) -> list[tuple[int, int]]:
        return [(e.instance.id, e.instance.rank) for m in self.world.machines.values() for e in m.processes.values()]


def _position(assignment: object) -> tuple[int, int]:
    return assignment.epoch, assignment.revision  # type: ignore[attr-defined]


def run(start: Setup, steps: Sequence[Step], rules: Rules | None = None) -> Outcome:
    world = build(start, rules or Rules())
    auditor = Auditor(world)
    for step in steps:
        world.apply(step)
        if found := auditor.violations():
            return Outcome(tuple(found), tuple(world.trace))
    found = settle(world, auditor) or unsettled(world)
    return Outcome(tuple(found), tuple(world.trace))


def run_seed(seed: int, count: int, rules: Rules | None = None) -> Outcome:
    return run(setup(seed), schedule(seed, count), rules)


def settle(world: World, auditor: Auditor) -> list[str]:
    """No more faults: everything is healed and does what it does, in order, until nothing changes any more."""
    for machine in world.machines.values():
        machine.is_cut = False
        machine.start_agent(world.server.rules)
    quiet = 0
    for _ in range(SETTLING_ROUNDS):
        before = _fingerprint(world)
        _one_round(world)
        if found := auditor.violations():
            return found
        quiet = quiet + 1 if before == _fingerprint(world) else 0
        if quiet > 8:
            return []
    return ["L7: the world does not come to rest"]


def _one_round(world: World) -> None:
    world.pass_time(10)
    while world.server.release(0):
        pass
    for kind in ("liveness", "decide", "send_usage", "load_engine", "end_engine"):
        world.apply(Step(kind, 0, 0, 1))
    while world.network:
        world.apply(Step("deliver", 0, 1, 0))
    for choice in range(len(world.machines)):
        world.apply(Step("sync", choice, 0, 0))


def _fingerprint(world: World) -> object:
    rows = [(row.id, row.state, row.worker_id, row.holds_claim, row.gave_up) for row in world.server.instances.values()]
    processes = [(m.id, each.pid, each.phase) for m in world.machines.values() for each in m.processes.values()]
    waiting = [
        (m.id, id_, task.next_try_at)
        for m in world.machines.values()
        if m.agent is not None
        for id_, task in m.agent.tasks.items()
    ]
    return rows, processes, waiting, len(world.gateway.spool), len(world.server.ledger.rows)


def unsettled(world: World) -> list[str]:
    """L1-L7: what a healed world must have come to."""
    server = world.server
    rows = list(server.instances.values())
    found = [f"L2: instance {row.id} is {row.state} for ever" for row in rows if State(row.state) in ENDING]
    wanted = {row.id for row in rows if row.holds_claim}
    living = {
        (each.instance.id, machine.id) for machine in world.machines.values() for each in machine.processes.values()
    }
    found += [f"L3: instance {id_} runs and is not wanted" for id_ in {id_ for id_, _ in living} - wanted]
    found += [f"L3: instance {row.id} is ready and does not run" for row in rows if _is_ghost(row, living)]
    found += [f"L4: {id_} was never counted" for id_ in set(world.gateway.truth) - server.ledger.known]
    found += [
        f"L2: instance {row.id} fits and waits" for row in rows if row.state == State.PENDING and _fits(world, row)
    ]
    for model in server.models.values():
        count = sum(row.model_id == model.id and row.generation == model.launch_generation for row in rows)
        found += [] if count == model.replicas else [f"L2: {model.name} has {count} of {model.replicas} instances"]
    return found


def _is_ghost(row: ModelInstance, living: set[tuple[int, int]]) -> bool:
    """It counts as ready, and a share of it has no process."""
    return row.state == State.READY and any((row.id, worker) not in living for worker in workers_of(row))


def _fits(world: World, row: object) -> bool:
    model = world.server.models[row.model_id]  # type: ignore[attr-defined]
    wish = PlacementWish(strategy=model.placement["strategy"])
    return isinstance(place(nodes(world.server.snapshot()), [claim_of(model.options)], wish), Placement)
