"""What the row of an instance keeps of each worker that carries a share of it, the leader first; pure.

An instance of one worker keeps nothing here. Of several, each share holds its claim until its own worker has said that
nothing of it lives there (`gone`); the row holds until all have.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpustack_lite.db.tables import ModelInstance
from gpustack_lite.lifecycle import State
from gpustack_lite.wire import InstanceStatus

Member = dict[str, Any]
RESTARTS = "joint_restart"
"""What a share says that was ended only because another one failed."""
_SERVING = frozenset({State.READY, State.UNHEALTHY})


class Joint(NamedTuple):
    """What follows for the instance from what its shares are in."""

    state: State
    said: dict[str, Any] | None


def begun(rank: int, worker_id: int, worker: str, devices: Sequence[int], **assigned: Any) -> Member:
    """`assigned` are the fields of AssignedInstance that differ from worker to worker."""
    said: Member = {"state": None, "said": None, "pid": None, "attempt": 0, "ports": [], "gone": False}
    return {
        "rank": rank,
        "worker_id": worker_id,
        "worker": worker,
        "devices": list(devices),
        "assigned": assigned,
        **said,
    }


def workers_of(instance: ModelInstance) -> tuple[int, ...]:
    """Ids, the leader's first."""
    if instance.members:
        return tuple([each["worker_id"] for each in instance.members])
    return () if instance.worker_id is None else (instance.worker_id,)


def holders(instance: ModelInstance) -> tuple[int, ...]:
    """The workers on which a share of one that holds its claim still counts."""
    if instance.members:
        return tuple([each["worker_id"] for each in instance.members if not each["gone"]])
    return workers_of(instance)


def devices_on(instance: ModelInstance, worker_id: int) -> Sequence[int]:
    """The indices on which its claim counts there."""
    if not instance.members:
        return instance.device_indices if instance.worker_id == worker_id else ()
    member = member_of(instance, worker_id)
    return () if member is None or member["gone"] else member["devices"]


def member_of(instance: ModelInstance, worker_id: int) -> Member | None:
    return next((each for each in instance.members if each["worker_id"] == worker_id), None)


def is_wanted_on(instance: ModelInstance, worker_id: int) -> bool:
    """Whoever confirmed its end is not asked to begin it again."""
    return worker_id in holders(instance)


def put(instance: ModelInstance, worker_id: int, **said: Any) -> None:
    """A new list, because a changed one inside the old is not seen."""
    instance.members = [{**each, **said} if each["worker_id"] == worker_id else each for each in instance.members]


def take(instance: ModelInstance, worker_id: int, status: InstanceStatus) -> bool:
    """What one worker says of its share; True when any of it is new."""
    before = instance.members
    put(
        instance,
        worker_id,
        state=str(status.state),
        said=status.said.model_dump() if status.said else None,
        pid=status.pid,
        attempt=status.attempt,
        ports=list(status.meeting_ports),
    )
    return before != instance.members


def joint(instance: ModelInstance) -> Joint:
    """One share that failed is the whole that failed; it serves when its leader does and all the others run."""
    leader, *others = instance.members
    failed = [each for each in instance.members if each["state"] == State.FAILED]
    if failed:
        return Joint(State.FAILED, _cause(failed))
    state = State(leader["state"] or State.PREPARING)
    if state not in _SERVING:
        return Joint(state, leader["said"])
    behind = [each for each in others if each["state"] != State.READY or each["attempt"] != leader["attempt"]]
    if behind:
        names = ", ".join([each["worker"] for each in behind])
        return Joint(State.STARTING, {"code": "waits_for_members", "params": {"workers": names}})
    return Joint(state, leader["said"])


def _cause(failed: Sequence[Member]) -> dict[str, Any] | None:
    """The leader's own words where it failed by itself, else whose share it was."""
    causes = [each for each in failed if (each["said"] or {}).get("code") != RESTARTS]
    first = causes[0] if causes else failed[0]
    said: dict[str, Any] | None = first["said"]
    if first["rank"] == 0:
        return said
    line = ((said or {}).get("params") or {}).get("last_line") or "-"
    return {"code": "member_failed", "params": {"worker": first["worker"], "rank": first["rank"], "last_line": line}}


def is_over(instance: ModelInstance) -> bool:
    """Whether a share of the present round failed, so that all are to begin the next one together."""
    return any(each["state"] == State.FAILED and each["attempt"] >= instance.round for each in instance.members)


def meeting_ports(instance: ModelInstance) -> Sequence[int]:
    """Where the leader of the present round waits for the others; empty while it has not said."""
    leader = instance.members[0]
    return leader["ports"] if leader["attempt"] == instance.round and leader["state"] != State.FAILED else ()
