"""Rows with what a test cares about; the rest is what a healthy cluster would say."""

from typing import Any

from gpustack_lite.db.tables import GatewayRow, Model, ModelInstance, Worker, WorkerDevice
from tests.fakes.clock import START

GIB = 1024**3


def a_model(**given: Any) -> Model:
    return Model(**{"id": 1, "name": "m", "source": "/models/m.gguf", "created_at": START, "updated_at": START} | given)


def an_instance(id: int | None = None, state: str = "pending", **given: Any) -> ModelInstance:
    base = {"model_id": 1, "model_name": "m", "generation": 1, "created_at": START, "state_since": START}
    return ModelInstance(**base | {"id": id, "state": state} | given)


def a_placed_instance(id: int | None, state: str = "ready", *, worker_id: int = 1, **given: Any) -> ModelInstance:
    claim = {"device_count": 0, "bytes_per_device": 0, "ram_bytes": GIB, "device_kinds": ["cpu"]}
    assigned = {"id": id, "model": "m", "generation": 1, "source": "/models/m.gguf", "backend": "echo", "claim": claim}
    base = {"worker_id": worker_id, "holds_claim": True, "claim": claim, "assigned": assigned, "port": 21000}
    return an_instance(id, state, **base | given)


def a_worker(id: int | None = 1, **given: Any) -> Worker:
    base = {
        "uid": f"uid-{id}",
        "name": f"w{id}",
        "credential_digest": f"digest-{id}",
        "state": "ready",
        "ram_total_bytes": 64 * GIB,
        "ram_used_bytes": 0,
        "joined_at": START,
    }
    return Worker(**base | {"id": id} | given)


def a_device(index: int = 0, *, worker_id: int = 1, **given: Any) -> WorkerDevice:
    base = {"kind": "ascend", "chip": "910B3", "memory_total_bytes": 64 * GIB, "memory_used_bytes": 0, "health": "ok"}
    return WorkerDevice(**base | {"worker_id": worker_id, "index": index} | given)


def a_gateway(**given: Any) -> GatewayRow:
    return GatewayRow(**{"gateway_id": "g", "epoch": 1, "models_revision": 1, "seen_at": START} | given)
