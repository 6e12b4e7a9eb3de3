"""A worker's host: devices, processes that outlive their agent, and the agent that obeys its Assignment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpustack_lite.lifecycle import State
from gpustack_lite.wire import AssignedInstance, Assignment, InstanceStatus, StatusReport
from tests.sim.rules import Rules
from worker.desired import NOTHING_YET
from worker.plan import Stop, overtaken, plan

BACKOFF_SECONDS = 5


@dataclass
class Process:
    """The truth about an engine. A dying one still holds its memory."""

    pid: int
    instance: AssignedInstance
    phase: str = "loading"

    @property
    def used_bytes(self) -> int:
        return self.instance.claim.bytes_per_device // (2 if self.phase == "loading" else 1)


@dataclass
class Task:
    """What the agent remembers of one instance; forgotten when the agent dies."""

    instance: AssignedInstance
    pid: int | None
    attempt: int = 1
    next_try_at: int | None = None
    gave_up: bool = False
    is_ending: bool = False


@dataclass
class Agent:
    incarnation: int
    current: Assignment
    tasks: dict[int, Task] = field(default_factory=dict)


@dataclass
class Machine:
    id: int
    name: str
    capacity_bytes: dict[int, int]
    foreign_bytes: dict[int, int]
    on_disk: Assignment = NOTHING_YET
    processes: dict[int, Process] = field(default_factory=dict)
    agent: Agent | None = None
    is_cut: bool = False
    last_pid: int = 0
    incarnations: int = 0

    def used_bytes(self, index: int) -> int:
        own = sum(each.used_bytes for each in self.processes.values() if index in each.instance.devices)
        return own + self.foreign_bytes[index]

    # faults

    def crash_agent(self) -> None:
        self.agent = None

    def crash(self) -> None:
        self.agent = None
        self.processes.clear()

    def start_agent(self, rules: Rules) -> bool:
        """Adopts what lives and goes on from the Assignment on disk."""
        if self.agent is not None:
            return False
        self.incarnations += 1
        self.agent = Agent(self.incarnations, self.on_disk)
        for process in self.processes.values() if rules.adopts else ():
            self.agent.tasks[process.instance.id] = Task(process.instance, process.pid, process.instance.round)
        return True

    # the agent

    def receive(self, assignment: Assignment, rules: Rules) -> bool:
        if self.agent is None or not rules.accepts(assignment, self.agent.current):
            return False
        self.agent.current = self.on_disk = assignment
        return True

    def act(self, now: int, rules: Rules) -> None:
        if self.agent is None:
            return
        self._notice_deaths(self.agent, now)
        desired = {each.id: each for each in self.agent.current.instances}
        for action in filter(rules.carries_out, plan(desired, self.agent.tasks)):
            if isinstance(action, Stop):
                self._stop(self.agent, action.id, rules)
            else:
                begun = action.instance
                self.agent.tasks[begun.id] = Task(begun, self._spawn(begun), begun.round)
        self._end_overtaken(self.agent, desired)
        self._try_again(self.agent, desired, now)

    def _end_overtaken(self, agent: Agent, desired: Mapping[int, AssignedInstance]) -> None:
        """Another worker's share failed: ours ends too, and begins again with the round that was called."""
        for each in overtaken(desired, {id_: task.attempt for id_, task in agent.tasks.items()}):
            if (process := self.processes.get(agent.tasks[each.id].pid or 0)) is not None:
                process.phase = "dying"

    def _notice_deaths(self, agent: Agent, now: int) -> None:
        for id_, task in list(agent.tasks.items()):
            if task.pid is None or task.pid in self.processes:
                continue
            task.pid = None
            if task.is_ending:
                del agent.tasks[id_]
                continue
            task.gave_up = task.attempt > task.instance.restart_limit
            task.next_try_at = None if task.gave_up else now + BACKOFF_SECONDS * 2 ** min(task.attempt - 1, 6)

    def _stop(self, agent: Agent, id_: int, rules: Rules) -> None:
        task = agent.tasks[id_]
        task.is_ending = True
        if task.pid in self.processes:
            self.processes[task.pid].phase = "dying"
        if task.pid is None or not rules.waits_for_the_end:
            del agent.tasks[id_]

    def _try_again(self, agent: Agent, desired: Mapping[int, AssignedInstance], now: int) -> None:
        for id_, task in agent.tasks.items():
            if task.next_try_at is None or task.next_try_at > now or task.is_ending:
                continue
            task.instance = desired.get(id_, task.instance)
            if not task.instance.members or task.instance.round > task.attempt:
                task.next_try_at = None
                task.attempt = max(task.attempt + 1, task.instance.round)
                task.pid = self._spawn(task.instance)

    def _spawn(self, instance: AssignedInstance) -> int:
        self.last_pid += 1
        self.processes[self.last_pid] = Process(self.last_pid, instance)
        return self.last_pid

    def report(self, rules: Rules) -> StatusReport | None:
        if self.agent is None:
            return None
        current = self.agent.current
        return StatusReport(
            epoch=current.epoch, revision=current.revision, instances=tuple(self._statuses(self.agent, rules))
        )

    def _statuses(self, agent: Agent, rules: Rules) -> Iterator[InstanceStatus]:
        for id_, task in agent.tasks.items():
            process = self.processes.get(task.pid or 0)
            if process is None or rules.reports(process):
                state = self._state(task, process)
                yield InstanceStatus(id=id_, state=state, attempt=task.attempt, gave_up=task.gave_up)

    def _state(self, task: Task, process: Process | None) -> State:
        if process is None or (process.phase == "dying" and not task.is_ending):
            return State.FAILED
        return {"loading": State.STARTING, "ready": State.READY, "dying": State.STOPPING}[process.phase]
