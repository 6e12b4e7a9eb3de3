"""Whether the disks of workers take what a model still has to bring there; pure."""

from collections.abc import Mapping, Sequence

from gpustack_lite.db.tables import Model, ModelFile, Worker
from gpustack_lite.domain import ModelFacts, Params, Reason
from gpustack_lite.hub import sources


def full(
    workers: Sequence[Worker], model: Model, facts: ModelFacts | None, files: Sequence[ModelFile]
) -> Mapping[int, Reason]:
    """By worker id: those without room, while another one has some.

    Where none has, the worker itself looks: a copy of another program may lie there, of which nobody here knows.
    """
    found = {each.id or 0: reason for each in workers if (reason := no_room(each, model, facts, files)) is not None}
    has_other = any(each.state == "ready" and each.id not in found for each in workers)
    return found if has_other else {}


def no_room(worker: Worker, model: Model, facts: ModelFacts | None, files: Sequence[ModelFile]) -> Reason | None:
    """None where it is not known: the worker looks once more, with what it is to leave free, before a byte comes."""
    if facts is None or facts.download_bytes is None or worker.disk_free_bytes is None or worker.simulated:
        return None
    if not sources.is_remote(model.source):
        return None
    needed = facts.download_bytes - _here(worker, model, files)
    if needed <= worker.disk_free_bytes:
        return None
    params: Params = {"worker": worker.name, "needed_bytes": needed, "free_bytes": worker.disk_free_bytes}
    return Reason(worker.name, "disk", "not_enough_disk", params, needed, worker.disk_free_bytes)


def _here(worker: Worker, model: Model, files: Sequence[ModelFile]) -> int:
    """What there is of the same revision already, beginnings included."""
    wish = (worker.id, model.source, model.source_revision, list(model.include or ()))
    same = (each for each in files if (each.worker_id, each.source, each.revision, list(each.include)) == wish)
    return max((each.done_bytes or 0 for each in same), default=0)
