"""Builds of engines that administrators asked for: who is to have them, who says what of them, who runs them."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries import moves
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import EngineVersion, Model, ModelInstance, Worker
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.wire import AssignedEngine

_TOLD = ("state", "said", "line", "fraction")


async def all_rows(session: AsyncSession) -> list[EngineVersion]:
    order = (col(EngineVersion.backend), col(EngineVersion.device_kind), col(EngineVersion.id))
    return list(await session.exec(select(EngineVersion).order_by(*order)))


async def by_ref(session: AsyncSession, ref: str) -> EngineVersion:
    """Raises:
    NotFound: no such build.
    """
    found = await session.get(EngineVersion, int(ref)) if is_id(ref) else None
    if found is None:
        raise NotFound("engine_version", ref)
    return found


async def same_as(session: AsyncSession, wanted: EngineVersion) -> EngineVersion | None:
    where = (EngineVersion.backend == wanted.backend, EngineVersion.version == wanted.version)
    found = select(EngineVersion).where(*where, EngineVersion.device_kind == wanted.device_kind)
    return (await session.exec(found)).one_or_none()


async def of_worker(session: AsyncSession, name: str) -> list[EngineVersion]:
    """Whether it has such devices it knows best itself."""
    return [each for each in await all_rows(session) if not each.workers or name in each.workers]


def assigned(row: EngineVersion) -> AssignedEngine:
    names = ("backend", "version", "device_kind", "recipe", "is_default")
    return AssignedEngine.model_validate({name: getattr(row, name) for name in names})


async def put(session: AsyncSession, row: EngineVersion) -> None:
    """Touch "assignments" after the commit."""
    session.add(row)
    await session.flush()
    await _tell_workers(session)


async def remove(session: AsyncSession, row: EngineVersion) -> None:
    await session.delete(row)
    await session.flush()
    await _tell_workers(session)


async def make_default(session: AsyncSession, row: EngineVersion) -> None:
    """The only one of its backend and kind. What workers said of it is corrected at once: the next beat may be late."""
    for each in await all_rows(session):
        if (each.backend, each.device_kind) == (row.backend, row.device_kind) and each.id != row.id:
            each.is_default = False
            session.add(each)
    row.is_default = True
    for worker in await session.exec(select(Worker)):
        worker.backend_versions = [_marked(each, row) for each in worker.backend_versions]
        session.add(worker)
    await put(session, row)


def _marked(said: dict[str, Any], row: EngineVersion) -> dict[str, Any]:
    if said["backend"] != row.backend or said["device_kinds"] != [row.device_kind]:
        return said
    return {**said, "is_default": said["version"] == row.version}


async def _tell_workers(session: AsyncSession) -> None:
    ids = await session.exec(select(Worker.id))
    await moves.change_assignment(session, *(each for each in ids if each is not None))


async def must_be_free(session: AsyncSession, row: EngineVersion) -> None:
    """Raises:
    Refusal: `engine_version_in_use`, naming who runs it or asks for it.
    """
    running = [f"{each.model_name} #{each.id}" for each in (await users(session)).get(_key(row), [])]
    asking = select(Model.name).where(Model.backend == row.backend, Model.backend_version == row.version)
    others = [name for name in await session.exec(asking.order_by(col(Model.id))) if not running]
    if names := [*running, *others][:10]:
        told = ", ".join(names)
        raise Refusal("engine_version_in_use", status=409, backend=row.backend, version=row.version, instances=told)


Key = tuple[str, str, str]


def _key(row: EngineVersion) -> Key:
    return row.backend, row.version, row.device_kind


async def users(session: AsyncSession) -> dict[Key, list[ModelInstance]]:
    """By (backend, version, kind) the instances that were placed for it and have not ended."""
    grouped: dict[Key, list[ModelInstance]] = {}
    placed = select(ModelInstance).where(col(ModelInstance.worker_id).is_not(None))
    for each in await session.exec(placed.order_by(col(ModelInstance.id))):
        for kind in _kinds(each.assigned or {}):
            key = (str((each.assigned or {}).get("backend")), str((each.assigned or {}).get("backend_version")), kind)
            grouped.setdefault(key, []).append(each)
    return grouped


def _kinds(assigned_: Mapping[str, Any]) -> Iterable[str]:
    return (assigned_.get("claim") or {}).get("device_kinds") or () if assigned_.get("devices") else ("cpu",)


async def documents(session: AsyncSession) -> list[dict[str, Any]]:
    """Builds that were asked for, then what workers have beside them."""
    rows, used = await all_rows(session), await users(session)
    workers = list(await session.exec(select(Worker).order_by(col(Worker.name))))
    return [document(row, workers, used.get(_key(row), [])) for row in rows] + _others(workers)


async def document_of(session: AsyncSession, row: EngineVersion) -> dict[str, Any]:
    workers = list(await session.exec(select(Worker).order_by(col(Worker.name))))
    return document(row, workers, (await users(session)).get(_key(row), []))


def document(row: EngineVersion, workers: Iterable[Worker], used: Iterable[ModelInstance]) -> dict[str, Any]:
    said = [(worker.name, each) for worker in workers for each in worker.backend_versions if _is_of(each, row)]
    there = [{"worker": name, **{key: each.get(key) for key in _TOLD}} for name, each in said]
    return {
        "id": row.id,
        "backend": row.backend,
        "version": row.version,
        "device_kinds": [row.device_kind],
        "source": row.recipe.get("kind"),
        "level": row.recipe.get("level"),
        "is_default": row.is_default,
        "state": _together([str(each["state"]) for each in there]),
        "wanted_on": row.workers,
        "workers": there,
        "instances": [{"id": each.id, "model": each.model_name} for each in used],
        "recipe": row.recipe,
        "created_at": iso(row.created_at),
    }


def _is_of(said: Mapping[str, Any], row: EngineVersion) -> bool:
    mine = (row.backend, row.version, [row.device_kind])
    return said.get("state") is not None and (said["backend"], said["version"], said["device_kinds"]) == mine


def _together(states: list[str]) -> str:
    """The one that needs attention most; "waiting" where no worker has said anything yet."""
    return next((each for each in ("failed", "installing", "waiting", "ready") if each in states), "waiting")


def _others(workers: Iterable[Worker]) -> list[dict[str, Any]]:
    """What comes with the program or was found on workers, as they say."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for worker in workers:
        for said in worker.backend_versions:
            if said.get("state") is None:
                key = (said["backend"], said["version"], said["source"])
                each = found.setdefault(key, _as_said(said))
                each["workers"] += [{"worker": worker.name, "state": "ready"}] if said["installed"] else []
                each["state"] = "ready" if each["workers"] else "installable"
    return [found[key] for key in sorted(found)]


def _as_said(said: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(("id", "level", "recipe", "created_at"))
    named = {key: said[key] for key in ("backend", "version", "device_kinds", "source")}
    return {**empty, **named, "is_default": False, "wanted_on": [], "workers": [], "instances": []}
