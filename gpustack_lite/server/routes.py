"""What the gateways are told: a route per model and a credential per key and session; pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from backends import registry
from backends.base import Renames
from backends.slots import slots_of
from gpustack_lite import access, roles
from gpustack_lite.access import Guarded, Person
from gpustack_lite.db import model_state
from gpustack_lite.db.queries.cluster import engine_key
from gpustack_lite.db.queries.publishing import Published
from gpustack_lite.db.queries.sights import guarded_route
from gpustack_lite.db.tables import ApiKey, LoginSession, Model, ModelInstance, User, Worker
from gpustack_lite.lifecycle import ModelState, State
from gpustack_lite.server import abilities
from gpustack_lite.server.facts import facts_of
from gpustack_lite.wire import Credential, Endpoint, Limits, ModelRoute, NamedRoute, RouteTarget, Said, Serving

_SAID = {
    ModelState.STOPPED: "model_stopped",
    ModelState.SLEEPING: "model_sleeping",
    ModelState.FAILED: "model_failed",
}
_FURTHEST = (State.STARTING, State.PREPARING, State.SCHEDULED, State.FAILED, State.PENDING)


def model_routes(view: Published) -> tuple[ModelRoute, ...]:
    return tuple(_route(view, model, view.fleet.instances.get(key, ())) for key, model in view.fleet.models.items())


def _route(view: Published, model: Model, instances: Sequence[ModelInstance]) -> ModelRoute:
    ready = [each for each in instances if each.state == State.READY and each.port is not None]
    backend = next((each.assigned["backend"] for each in instances if each.assigned), model.backend)
    able = abilities.of_model(model, backend, facts_of(view.facts.get(model.files_source)), view.customs)
    endpoints = tuple(found for each in ready if (found := _endpoint(view, each)) is not None)
    return ModelRoute(
        id=model.id or 0,
        name=model.name,
        created=int(model.created_at.timestamp()),
        state=str(model_state.state_of(model, instances)),
        said=None if endpoints else _why_not(view, model, instances),
        backend=backend,
        context_length=min((each.context_length for each in endpoints if each.context_length), default=None),
        endpoints=endpoints,
        is_coming=not endpoints and _is_coming(view, model, instances),
        loading=None if endpoints else _loading(view, instances),
        serving=Serving.model_validate(model.serving),
        paths=tuple(sorted(able.paths)),
        abilities=abilities.document(able),
        adapters=tuple(f"{model.name}:{each}" for each in able.adapters),
    )


def named_routes(view: Published) -> tuple[NamedRoute, ...]:
    return tuple(
        NamedRoute(
            name=row.name,
            created=int(row.created_at.timestamp()),
            targets=tuple(RouteTarget.model_validate(each) for each in row.targets),
            fallback=tuple(row.fallback),
        )
        for row in view.named
    )


def _endpoint(view: Published, instance: ModelInstance) -> Endpoint | None:
    worker = view.workers.get(instance.worker_id or 0)
    if worker is None or view.engine_secret is None:
        return None
    return Endpoint(
        instance_id=instance.id or 0,
        address=address(worker.data_address, instance.port or 0),
        engine_key=engine_key(view.engine_secret, instance.id or 0),
        context_length=instance.context_length,
        served_name=_served_name(instance.assigned or {}, instance.model_name),
        slots=slots_of((instance.assigned or {}).get("backend"), (instance.assigned or {}).get("options") or {}),
        worker=worker.name,
        attempt=instance.attempt,
    )


def _served_name(assigned: Mapping[str, Any], model_name: str) -> str:
    """Under which its engine knows the model: not every engine takes every name."""
    name: str = assigned.get("model", model_name)
    backend = registry.registry().backends.get(assigned.get("backend") or "")
    return backend.served_name(name) if isinstance(backend, Renames) else name


def address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _why_not(view: Published, model: Model, instances: Sequence[ModelInstance]) -> Said:
    """The sentence of the instance that says most, else what follows from the state."""
    if (said := model_state.why_not_ready(model, instances)) is not None:
        return Said.model_validate(said)
    state = model_state.state_of(model, instances)
    if state == ModelState.STARTING:
        worker = _worker_name(view.workers, _furthest(instances))
        return Said(code="model_starting", params={"model": model.name, "worker": worker})
    return Said(code=_SAID.get(state, "model_pending"), params={"model": model.name})


def _is_coming(view: Published, model: Model, instances: Sequence[ModelInstance]) -> bool:
    """Whether somebody who waits will be served. What has no room now may have it when others have ended."""
    if model.stopped or model.replicas == 0:
        return False
    alive = model_state.living(instances)
    if model.asleep or not alive:
        return True
    makes_room = any(each.state == State.STOPPING for group in view.fleet.instances.values() for each in group)
    return any(not each.gave_up and (makes_room or not _is_unplaceable(each)) for each in alive)


def _is_unplaceable(instance: ModelInstance) -> bool:
    return instance.state == State.PENDING and bool(instance.reasons)


def _loading(view: Published, instances: Sequence[ModelInstance]) -> dict[str, Any] | None:
    """How far the furthest has come; whole percents, so that a long load does not renumber the routes all the time."""
    nearest = _furthest(instances)
    if nearest is None:
        return None
    progress = nearest.progress or {}
    return {
        "state": nearest.state,
        "worker": _worker_name(view.workers, nearest),
        "phase": progress.get("phase"),
        **_in_whole_percents(progress),
        **_eta(progress),
    }


def _eta(progress: dict[str, Any]) -> dict[str, float]:
    """Left out where nobody knows; in steps, for the same reason."""
    seconds = progress.get("eta_seconds")
    if seconds is None:
        return {}
    step = 5 if seconds < 60 else 30 if seconds < 600 else 300
    return {"eta_seconds": max(1, round(seconds / step)) * step}


def _in_whole_percents(progress: dict[str, Any]) -> dict[str, Any]:
    done, total, fraction = (progress.get(name) for name in ("bytes_done", "bytes_total", "fraction"))
    if done is not None and total:
        percents = done * 100 // total
        return {"progress": percents / 100, "bytes_done": total * percents // 100, "bytes_total": total}
    return {"progress": None if fraction is None else round(fraction, 2), "bytes_done": None, "bytes_total": total}


def _furthest(instances: Sequence[ModelInstance]) -> ModelInstance | None:
    coming = [each for each in instances if State(each.state) in _FURTHEST]
    return min(coming, key=lambda each: (_FURTHEST.index(State(each.state)), each.id or 0), default=None)


def _worker_name(workers: dict[int, Worker], instance: ModelInstance | None) -> str | None:
    worker = None if instance is None else workers.get(instance.worker_id or 0)
    return worker.name if worker else None


def credentials(view: Published) -> tuple[Credential, ...]:
    keys = [each for key, user in view.keys for each in _of_secrets(key, user)]
    sessions = [_of_session(session, user) for session, user in view.sessions]
    every = keys + sessions + _of_batches(view)
    denied = {each.user_id: _denied(view, each) for each in every}
    return tuple(
        each.model_copy(update={"denied": denied[each.user_id]}) if denied[each.user_id] else each for each in every
    )


def _denied(view: Published, credential: Credential) -> tuple[str, ...]:
    """The public names that are not for the owner of this credential."""
    person = Person(credential.user_id, credential.role, view.groups.get(credential.user_id, frozenset()))
    models = (Guarded(key, each.name, each.access) for key, each in view.fleet.models.items())
    return tuple(sorted(access.sight(models, map(guarded_route, view.named), person).names))


def _of_secrets(key: ApiKey, user: User) -> list[Credential]:
    """A key that was rotated is known by two secrets, until the earlier one ends."""
    now = _of_key(key, user)
    if key.previous_digest is None or key.previous_until is None:
        return [now]
    until = min(key.previous_until, key.expires_at or key.previous_until)
    return [now, now.model_copy(update={"digest": key.previous_digest, "expires_at": until})]


def _of_key(key: ApiKey, user: User) -> Credential:
    return Credential(
        digest=key.digest,
        kind="key",
        id=key.id or 0,
        name=key.name,
        user_id=user.id or 0,
        user=user.username,
        role=user.role,
        scopes=roles.held(user.role, key.scopes),
        models=tuple(key.models),
        expires_at=key.expires_at,
        enabled=key.enabled,
        limits=limits_of(key.limits),
        user_limits=limits_of(user.limits),
        weight=key.weight,
    )


def limits_of(stored: dict[str, Any] | None) -> Limits | None:
    return Limits.model_validate(stored) if stored else None


def _of_batches(view: Published) -> list[Credential]:
    """Each has the rights of the key that made it, and none once that key is gone."""
    by_key = {key.id: _of_key(key, user) for key, user in view.keys}
    found = [_of_user(user) if batch.key_id is None else by_key.get(batch.key_id) for batch, user in view.batches]
    return [
        made.model_copy(update={"digest": batch.digest, "kind": "batch"})
        for made, (batch, _) in zip(found, view.batches, strict=True)
        if made is not None
    ]


def _of_user(user: User) -> Credential:
    """What was made in the console, or by the command line on the server, belongs to no key."""
    return Credential(
        digest="",
        kind="batch",
        id=0,
        user_id=user.id or 0,
        user=user.username,
        role=user.role,
        scopes=roles.held(user.role, ("inference",)),
        user_limits=limits_of(user.limits),
    )


def _of_session(session: LoginSession, user: User) -> Credential:
    return Credential(
        digest=session.digest,
        kind="session",
        id=session.id or 0,
        user_id=user.id or 0,
        user=user.username,
        role=user.role,
        scopes=roles.session_scopes(user.role, must_change_password=user.must_change_password),
        expires_at=session.expires_at,
        csrf_digest=session.csrf_digest,
        user_limits=limits_of(user.limits),
    )
