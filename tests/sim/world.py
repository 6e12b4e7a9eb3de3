"""The whole in small: machines, a server, a gateway and a network, moved by one step after another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpustack_lite.chips import GIB
from gpustack_lite.db.tables import Model
from gpustack_lite.lifecycle import State
from tests.sim.gateway import Gateway
from tests.sim.machine import Machine, Process
from tests.sim.rules import Rules
from tests.sim.server import Server
from tests.sim.steps import Setup, Step

MOST_MESSAGES = 60


class Message(NamedTuple):
    """In flight. `incarnation` is the agent that opened the connection; another one never reads it."""

    kind: str
    worker_id: int
    incarnation: int
    sent_at: int
    content: Any


@dataclass
class World:
    server: Server
    machines: dict[int, Machine]
    gateway: Gateway = field(default_factory=Gateway)
    network: list[Message] = field(default_factory=list)
    now: int = 0
    models_made: int = 0
    trace: list[str] = field(default_factory=list)

    def apply(self, step: Step) -> None:
        said = STEPS[step.kind](self, step)
        self.trace.append(f"{self.now:6} {step.kind} {'-' if said is None else said}")

    def machine(self, choice: int) -> Machine:
        return list(self.machines.values())[choice % len(self.machines)]

    def processes(self, phase: str) -> list[tuple[Machine, Process]]:
        each_of = ((machine, each) for machine in self.machines.values() for each in machine.processes.values())
        return [(machine, each) for machine, each in each_of if each.phase == phase]

    def send(self, message: Message) -> str | None:
        if len(self.network) >= MOST_MESSAGES:
            return None
        self.network.append(message)
        return f"{message.kind} {message.worker_id} {message.content!r}"

    def deliverable(self) -> list[Message]:
        """What goes to or comes from a worker that is cut off stays in flight."""
        cut = {machine.id for machine in self.machines.values() if machine.is_cut}
        return [message for message in self.network if message.worker_id not in cut]

    def deliver(self, message: Message) -> str:
        self.network.remove(message)
        return f"{message.kind} {message.worker_id} {_RECEIVERS[message.kind](self, message)}"

    def pass_time(self, seconds: int) -> None:
        """Agents that reach the server send a heartbeat."""
        self.now += seconds
        for machine in self.machines.values():
            if machine.agent is not None and not machine.is_cut:
                self.server.hear(machine, self.now)


def build(setup: Setup, rules: Rules) -> World:
    machines = {}
    server = Server(rules)
    for id_, (chip, count, gib) in enumerate(setup.machines, start=1):
        machine = Machine(id_, f"w{id_}", dict.fromkeys(range(count), gib * GIB), dict.fromkeys(range(count), 0))
        machine.start_agent(rules)
        machines[id_] = machine
        server.join(machine, chip, 0)
    return World(server, machines)


# --- messages --------------------------------------------------------------------------------------------------------


def _to_agent(world: World, message: Message) -> object:
    machine = world.machines[message.worker_id]
    is_open = machine.agent is not None and machine.agent.incarnation == message.incarnation
    return is_open and machine.receive(message.content, world.server.rules)


def _to_server(world: World, message: Message) -> object:
    world.server.take_in(message.worker_id, message.content, world.now, message.sent_at)
    return "taken in"


def _usage(world: World, message: Message) -> object:
    """The answer is a message of its own, and may be lost."""
    world.server.ledger.insert_once(message.content, world.server.rules)
    ids = tuple(request_id for request_id, _ in message.content)
    return world.send(Message("usage_answer", 0, 0, world.now, ids))


def _usage_answer(world: World, message: Message) -> object:
    world.gateway.acknowledged(message.content)
    return len(message.content)


_RECEIVERS: Mapping[str, Callable[[World, Message], object]] = {
    "assignment": _to_agent,
    "report": _to_server,
    "usage": _usage,
    "usage_answer": _usage_answer,
}


# --- steps: each answers with what it did, or None where there was nothing to do -------------------------------------


def _create_model(world: World, step: Step) -> object:
    if len(world.server.models) >= 6:
        return None
    world.models_made += 1
    claim = {"device_count": 1 + (step.a % 4 == 0), "bytes_per_device": (4 + step.b % 30) * GIB}
    claim["worker_count"] = 1 + ((step.c >> 6) % 3 == 0)
    model = Model(
        id=world.models_made,
        name=f"m{world.models_made}",
        replicas=1 + step.c % 3,
        options={**claim, "ram_bytes": 0, "device_kinds": ["ascend", "cuda"]},
        placement={"strategy": "binpack" if step.c & 8 else "spread"},
        generation=1,
        launch_generation=1,
        restart_limit=3 if claim["worker_count"] > 1 else (step.c >> 4) % 2,
    )
    world.server.models[world.models_made] = model
    return f"{model.name} x{model.replicas} {claim}"


def _a_model(world: World, choice: int) -> Model | None:
    models = list(world.server.models.values())
    return models[choice % len(models)] if models else None


def _scale_model(world: World, step: Step) -> object:
    if (model := _a_model(world, step.a)) is None:
        return None
    model.replicas = step.b % 4
    return f"{model.name} x{model.replicas}"


def _edit_model(world: World, step: Step) -> object:
    if (model := _a_model(world, step.a)) is None:
        return None
    model.launch_generation += 1
    model.options = {**model.options, "bytes_per_device": (4 + step.b % 30) * GIB}
    return f"{model.name} generation {model.launch_generation}"


def _delete_model(world: World, step: Step) -> object:
    if (model := _a_model(world, step.a)) is None:
        return None
    del world.server.models[model.id or 0]
    return model.name


def _tick(world: World, step: Step) -> object:
    world.pass_time(1 + step.a % 10)
    return world.now


def _long_tick(world: World, step: Step) -> object:
    world.pass_time(30 + step.a % 60)
    return world.now


def _replicas(world: World, step: Step) -> object:
    return world.server.replicas(world.now)


def _propose(world: World, step: Step) -> object:
    return world.server.propose(_a_server(world, step), _one_or_all(world, step))


def _a_server(world: World, step: Step) -> int:
    """Mostly the leader; sometimes the other one, which may believe that it leads."""
    return world.server.leader if step.a % 4 else 1 - world.server.leader


def _one_or_all(world: World, step: Step) -> int | None:
    """A round may look at one model only."""
    model = _a_model(world, step.b)
    return model.id if model is not None and step.c % 3 == 0 else None


def _commit(world: World, step: Step) -> object:
    return world.server.commit(_a_server(world, step), world.now)


def _liveness(world: World, step: Step) -> object:
    return world.server.liveness(world.now)


def _release(world: World, step: Step) -> object:
    return world.server.release(step.a) or None


def _send_assignment(world: World, step: Step) -> object:
    machine = world.machine(step.a)
    if machine.agent is None or machine.is_cut:
        return None
    content = world.server.assignment(machine.id)
    return world.send(Message("assignment", machine.id, machine.agent.incarnation, world.now, content))


def _send_report(world: World, step: Step) -> object:
    machine = world.machine(step.a)
    report = machine.report(world.server.rules)
    if report is None or machine.agent is None or machine.is_cut:
        return None
    return world.send(Message("report", machine.id, machine.agent.incarnation, world.now, report))


def _deliver(world: World, step: Step) -> object:
    """Mostly in order, sometimes from anywhere."""
    messages = world.deliverable()
    if not messages:
        return None
    return world.deliver(messages[0 if step.b % 3 else step.a % len(messages)])


def _duplicate(world: World, step: Step) -> object:
    return world.send(world.network[step.a % len(world.network)]) if world.network else None


def _drop(world: World, step: Step) -> object:
    return world.network.pop(step.a % len(world.network)).kind if world.network else None


def _decide(world: World, step: Step) -> object:
    """A round of the leader that nobody disturbs."""
    world.server.replicas(world.now)
    return world.server.decide(world.now, _one_or_all(world, step))


def _sync(world: World, step: Step) -> object:
    """A worker that reaches the server: it polls, acts and reports, while older messages are still in flight."""
    if _send_assignment(world, step) is None:
        return None
    polled = world.deliver(world.network[-1])
    _act(world, step)
    return f"{polled} {_send_report(world, step) and world.deliver(world.network[-1])}"


def _act(world: World, step: Step) -> object:
    machine = world.machine(step.a)
    machine.act(world.now, world.server.rules)
    return f"{machine.name} {[(each.instance.id, each.phase) for each in machine.processes.values()]}"


def _load_engine(world: World, step: Step) -> object:
    loading = world.processes("loading")
    if not loading:
        return None
    machine, process = loading[step.a % len(loading)]
    process.phase = "ready"
    return f"{machine.name} {process.instance.id}"


def _end_engine(world: World, step: Step) -> object:
    return _end_one(world.processes("dying"), step)


def _crash_engine(world: World, step: Step) -> object:
    return _end_one(world.processes("loading") + world.processes("ready"), step)


def _end_one(among: list[tuple[Machine, Process]], step: Step) -> object:
    if not among:
        return None
    machine, process = among[step.a % len(among)]
    del machine.processes[process.pid]
    return f"{machine.name} {process.instance.id}"


def _crash_agent(world: World, step: Step) -> object:
    return world.machine(step.a).crash_agent()


def _restart_agent(world: World, step: Step) -> object:
    """Down and up before anybody hears of it, going on from the Assignment on disk."""
    _crash_agent(world, step)
    _start_agent(world, step)
    return _act(world, step)


def _crash_host(world: World, step: Step) -> object:
    return world.machine(step.a).crash()


def _start_agent(world: World, step: Step) -> object:
    return world.machine(step.a).start_agent(world.server.rules) or None


def _cut(world: World, step: Step) -> object:
    machine = world.machine(step.a)
    machine.is_cut = True
    return machine.name


def _heal(world: World, step: Step) -> object:
    machine = world.machine(step.a)
    machine.is_cut = False
    return machine.name


def _foreign(world: World, step: Step) -> object:
    """Others take what is free of a device, or leave it."""
    machine = world.machine(step.a)
    index = step.b % len(machine.capacity_bytes)
    machine.foreign_bytes[index] = 0
    free = machine.capacity_bytes[index] - machine.used_bytes(index)
    machine.foreign_bytes[index] = max(0, free) * (step.c % 4) // 4
    return f"{machine.name}:{index} {machine.foreign_bytes[index]}"


def _take_over(world: World, step: Step) -> object:
    return world.server.take_over(step.a % 2)


def _restart_server(world: World, step: Step) -> object:
    return world.server.restart(world.now)


def _request(world: World, step: Step) -> object:
    ready = [row for row in world.server.instances.values() if row.state == State.READY]
    return world.gateway.serve() if ready else None


def _send_usage(world: World, step: Step) -> object:
    if not world.gateway.spool:
        return None
    return world.send(Message("usage", 0, 0, world.now, world.gateway.batch(world.server.rules)))


STEPS: Mapping[str, Callable[[World, Step], object]] = {
    act.__name__.removeprefix("_"): act
    for act in (
        *(_create_model, _scale_model, _edit_model, _delete_model, _tick, _long_tick, _decide, _replicas, _propose),
        *(_commit, _liveness, _release, _sync, _send_assignment, _send_report, _deliver, _duplicate, _drop, _act),
        *(
            _load_engine,
            _end_engine,
            _crash_engine,
            _crash_agent,
            _restart_agent,
            _crash_host,
            _start_agent,
            _cut,
            _heal,
            _foreign,
        ),
        *(_take_over, _restart_server, _request, _send_usage),
    )
}
