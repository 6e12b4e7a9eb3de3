"""The server in small: rows in memory, the real decisions, and one guarded commit per round of placements."""

from dataclasses import dataclass, field, replace

from gpustack_lite import lifecycle
from gpustack_lite.chips import kind_of
from gpustack_lite.db import members
from gpustack_lite.db.members import devices_on, holders, is_wanted_on, workers_of
from gpustack_lite.db.nodes import foreign_bytes, nodes
from gpustack_lite.db.queries.assignments import is_assigned
from gpustack_lite.db.queries.placing import Snapshot, claim_of
from gpustack_lite.db.tables import Model, ModelInstance, Worker, WorkerDevice
from gpustack_lite.domain import Claim, Part, Placement, PlacementWish
from gpustack_lite.errors import Refusal
from gpustack_lite.lifecycle import State
from gpustack_lite.server.deciding import claim_document
from gpustack_lite.server.rollout import Create, replica_actions
from gpustack_lite.wire import AssignedInstance, Assignment, InstanceStatus, StatusReport
from scheduler import Node
from tests.sim.facts import Commit, Moved, Placed
from tests.sim.gateway import Ledger
from tests.sim.machine import Machine
from tests.sim.rules import Rules

GRACE_SECONDS = 60


@dataclass(frozen=True)
class Proposal:
    """What one server decided on a snapshot and has not written yet."""

    epoch: int
    revision: int
    places: tuple[tuple[int, Placed], ...]


@dataclass
class Server:
    rules: Rules
    models: dict[int, Model] = field(default_factory=dict)
    instances: dict[int, ModelInstance] = field(default_factory=dict)
    workers: dict[int, Worker] = field(default_factory=dict)
    devices: dict[int, list[WorkerDevice]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    revision: int = 1
    epoch: int = 1
    epochs_held: list[int] = field(default_factory=lambda: [1, 0])
    """What each of two servers believes; the larger one leads."""
    heard_at: dict[int, int] = field(default_factory=dict)
    proposals: dict[int, Proposal] = field(default_factory=dict)
    last_id: int = 0
    moved: list[Moved] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)

    # what is told to it

    def join(self, machine: Machine, chip: str, now: int) -> None:
        self.workers[machine.id] = Worker(
            id=machine.id, name=machine.name, state="ready", ram_total_bytes=0, ram_used_bytes=0, backend_versions=[]
        )
        self.devices[machine.id] = [
            WorkerDevice(worker_id=machine.id, index=index, kind=kind_of(chip), chip=chip, memory_total_bytes=total)
            for index, total in machine.capacity_bytes.items()
        ]
        self.hear(machine, now)

    def hear(self, machine: Machine, now: int) -> None:
        """A heartbeat with readings."""
        self.heard_at[machine.id] = now
        self.workers[machine.id].state = "ready"
        for device in self.devices[machine.id]:
            device.memory_used_bytes = machine.used_bytes(device.index)
            device.health = "ok"

    def take_in(self, worker_id: int, report: StatusReport, now: int, sent_at: int) -> None:
        worker = self.workers[worker_id]
        if not self.rules.is_present(report, self.epoch):
            return
        placed = [row for row in self.instances.values() if worker_id in workers_of(row)]
        statuses = {status.id: status for status in report.instances}
        at = self.rules.event_time(now, sent_at)
        for row in placed:
            if (status := statuses.get(row.id or 0)) is not None and self.rules.hears(row):
                self._take_in_share(row, worker_id, status, at)
        if self.rules.knows_all(report, worker):
            for row in placed:
                if self._is_gone(row, worker_id) and row.id not in statuses:
                    self._bury(row, worker_id)

    def _is_gone(self, row: ModelInstance, worker_id: int) -> bool:
        return row.holds_claim and worker_id in holders(row) and not is_assigned(row)

    def _take_in_share(self, row: ModelInstance, worker_id: int, status: InstanceStatus, at: int) -> None:
        """Of one that several workers carry, what follows from all of them."""
        if not row.members:
            self._take_in_one(row, status.state, status.gave_up, at)
        elif status.state in {State.STARTING, State.READY, State.FAILED}:
            members.take(row, worker_id, status)
            self._take_in_one(row, members.joint(row).state, status.gave_up, at)
            if members.is_over(row) and not row.gave_up:
                row.round += 1
                self._change_assignment(*workers_of(row))

    def _take_in_one(self, row: ModelInstance, state: State, gave_up: bool, at: int) -> None:
        for step in lifecycle.path(State(row.state), state) or (state,):
            if State(row.state) != step and not self._try_move(row, step, at):
                return
        if gave_up and not row.gave_up:
            row.gave_up = True
            row.holds_claim = row.holds_claim and not self.rules.frees_what_gave_up
            self._change_assignment(*workers_of(row))

    def _bury(self, row: ModelInstance, worker_id: int) -> None:
        """Nothing of it lives; its last reading is taken off the devices, or it would pass for foreign use."""
        for device in self.devices[worker_id]:
            if device.index in devices_on(row, worker_id) and device.memory_used_bytes is not None:
                freed = claim_of(row.claim).bytes_per_device if row.ready_at else 0
                device.memory_used_bytes = max(0, device.memory_used_bytes - freed)
        members.put(row, worker_id, gone=True)
        if row.members and holders(row) and not self.rules.frees_all_with_one_share:
            return
        row.holds_claim = False
        if not (row.gave_up and row.state == State.FAILED):
            del self.instances[row.id or 0]

    # what it decides

    @property
    def leader(self) -> int:
        return self.epochs_held.index(self.epoch)

    def replicas(self, now: int) -> None:
        ids = sorted({*self.models, *(row.model_id for row in self.instances.values())})
        for model_id in ids:
            rows = [row for row in self.instances.values() if row.model_id == model_id]
            for action in replica_actions(self.models.get(model_id), rows):
                if isinstance(action, Create):
                    self._create(self.models[model_id], now)
                else:
                    self._retire(self.instances[action.instance_id], now)

    def liveness(self, now: int) -> None:
        """Who was silent for longer than the grace loses its instances; they are replaced, their claims stay."""
        for worker in self.workers.values():
            if now - self.heard_at.get(worker.id or 0, now) <= GRACE_SECONDS:
                continue
            worker.state = "silent"
            theirs = [row for row in self.instances.values() if row.holds_claim and worker.id in holders(row)]
            for row in theirs:
                if row.state != State.LOST and self._try_move(row, State.LOST, now):
                    row.holds_claim = not self.rules.frees_what_is_lost
                    self._change_assignment(*workers_of(row))

    def release(self, choice: int) -> bool:
        """The drain of one STOPPING instance is over: its processes are to end."""
        waiting = [row for row in self.instances.values() if row.state == State.STOPPING and not row.released]
        if not waiting:
            return False
        row = waiting[choice % len(waiting)]
        row.released = True
        self._change_assignment(*workers_of(row))
        return True

    def snapshot(self) -> Snapshot:
        return Snapshot(
            revision=self.revision,
            workers=list(self.workers.values()),
            devices=self.devices,
            holding=[row for row in self.instances.values() if self.rules.counts(row)],
            pending=[row for row in self.instances.values() if row.state == State.PENDING],
            models=self.models,
            inspections={},
            custom_backends={},
        )

    def decide(self, now: int, only: int | None = None) -> int | None:
        """A whole round of the leader, while slower rounds may be between their two halves."""
        return self._commit(self._propose(self.leader, only), now)

    def propose(self, server: int, only: int | None = None) -> int:
        """Read and decide, for all models or for one; `commit` writes it, maybe much later."""
        self.proposals[server] = self._propose(server, only)
        return len(self.proposals[server].places)

    def commit(self, server: int, now: int) -> int | None:
        proposal = self.proposals.pop(server, None)
        return None if proposal is None else self._commit(proposal, now)

    def _propose(self, server: int, only: int | None) -> Proposal:
        snapshot = self.snapshot()
        now_free, places = nodes(snapshot), []
        for row in [each for each in snapshot.pending if only in {None, each.model_id}]:
            model = snapshot.models.get(row.model_id)
            answer = None if model is None else self._place(now_free, model)
            if isinstance(answer, Placement):
                now_free = self.rules.reserve(now_free, answer)
                places.append((row.id or 0, self._facts(row, answer)))
        return Proposal(self.epochs_held[server], snapshot.revision, tuple(places))

    def _place(self, now_free: tuple[Node, ...], model: Model) -> object:
        wish = PlacementWish(strategy=model.placement["strategy"])
        return self.rules.place(now_free, [claim_of(model.options)], wish)

    def _facts(self, row: ModelInstance, placement: Placement) -> Placed:
        leader, *followers = [self._facts_of(row, placement.claim, part) for part in placement.parts]
        return replace(leader, followers=tuple(followers))

    def _facts_of(self, row: ModelInstance, claim: Claim, part: Part) -> Placed:
        worker = next(each for each in self.workers.values() if each.name == part.worker)
        held = [each for each in self.instances.values() if each.holds_claim and worker.id in holders(each)]
        picked = [each for each in self.devices[worker.id or 0] if each.index in part.devices]
        return Placed(
            instance_id=row.id or 0,
            worker_id=worker.id or 0,
            devices=part.devices,
            claim=claim,
            foreign_bytes={each.index: foreign_bytes(each, held) or 0 for each in picked},
        )

    def _commit(self, proposal: Proposal, now: int) -> int | None:
        """Write a proposal, unless somebody else leads or a claim moved since."""
        if not self.rules.is_leader(proposal.epoch, self.epoch):
            return None
        if not self.rules.is_unmoved(proposal.revision, self.revision):
            return None
        rows = [(self.instances.get(id_), placed) for id_, placed in proposal.places]
        written = [(row, placed) for row, placed in rows if row is not None and self.rules.may_place(row)]
        for row, placed in written:
            self._write(row, placed, now)
        self.commits.append(Commit(proposal.epoch, self.epoch))
        return len(written)

    def _write(self, row: ModelInstance, placed: Placed, now: int) -> None:
        model = self.models.get(row.model_id)
        if model is None or not self._try_move(row, State.SCHEDULED, now):
            return
        row.worker_id, row.device_indices = placed.worker_id, list(placed.devices)
        row.claim = claim_document(placed.claim)
        row.assigned = {"id": row.id, "model": model.name, "generation": row.generation, "source": "none:"}
        row.assigned |= {
            "backend": "echo",
            "devices": placed.devices,
            "claim": row.claim,
            "restart_limit": model.restart_limit,
        }
        row.members = self._shares(placed) if placed.followers else []
        row.worker_count = max(len(row.members), 1)
        row.holds_claim = True
        self.placed.append(placed)
        self._change_assignment(*workers_of(row))

    def _shares(self, placed: Placed) -> list[members.Member]:
        every = (placed, *placed.followers)
        return [members.begun(rank, e.worker_id, f"w{e.worker_id}", e.devices) for rank, e in enumerate(every)]

    def assignment(self, worker_id: int) -> Assignment:
        placed = [row for row in self.instances.values() if worker_id in workers_of(row) and is_assigned(row)]
        rows = [row for row in placed if is_wanted_on(row, worker_id)]
        return Assignment(
            epoch=self.epoch,
            revision=self.workers[worker_id].assignment_revision or 0,
            instances=tuple(self._assigned(row, worker_id) for row in rows),
        )

    def _assigned(self, row: ModelInstance, worker_id: int) -> AssignedInstance:
        given = {**(row.assigned or {}), "engine_key": ""}
        if (member := members.member_of(row, worker_id)) is not None:
            mates = [{"rank": e["rank"], "worker": e["worker"], "address": "10.0.0.1"} for e in row.members]
            given |= {"devices": member["devices"], "rank": member["rank"], "members": mates, "round": row.round}
        return AssignedInstance.model_validate(given)

    def take_over(self, server: int) -> None:
        self.epoch += 1
        self.epochs_held[server] = self.epoch

    def restart(self, now: int) -> None:
        """What was kept in memory is gone; silence is counted from now."""
        self.proposals.clear()
        self.heard_at = dict.fromkeys(self.heard_at, now)

    # rows

    def _create(self, model: Model, now: int) -> None:
        self.last_id = self.rules.next_id(self.last_id, self.instances)
        row = ModelInstance(id=self.last_id, model_id=model.id, generation=model.launch_generation, state="pending")
        self.instances[self.last_id] = row
        self.moved.append(Moved(now, self.last_id, None, State.PENDING))

    def _retire(self, row: ModelInstance, now: int) -> None:
        if not row.holds_claim:
            del self.instances[row.id or 0]
        else:
            self._try_move(row, State.STOPPING, now)

    def _try_move(self, row: ModelInstance, target: State, at: int) -> bool:
        before = State(row.state)
        try:
            row.state = str(self.rules.move(before, target))
        except Refusal:
            return False
        row.ready_at = at if target == State.READY else row.ready_at  # type: ignore[assignment]  # only asked for None
        self.moved.append(Moved(at, row.id or 0, before, target))
        return True

    def _change_assignment(self, *worker_ids: int) -> None:
        self.revision += 1
        for worker_id in worker_ids:
            self.workers[worker_id].assignment_revision = self.revision
