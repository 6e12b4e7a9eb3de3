"""Builds of engines that somebody asks for: held against what is documented, written, and left to the workers."""

import re
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from backends import recipes, registry
from backends.compatibility import Host, Verdict, verdict
from gpustack_lite.api import rules
from gpustack_lite.api.context import Context
from gpustack_lite.api.schemas.bodies import EngineVersionCreate
from gpustack_lite.db import auditing
from gpustack_lite.db.queries import engine_versions, events, workers
from gpustack_lite.db.tables import EngineVersion, Worker, WorkerDevice
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.recipes import Recipe, document

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._/:@-]{0,254}")


async def install(context: Context, body: EngineVersionCreate, created_by: int) -> dict[str, Any]:
    """The same build asked for again is one thing: more workers, or now the default."""
    rules.check_plain(body.model_dump(), "version")
    backend = recipes.named(body.backend, body.device_kind)
    _check(backend, body)
    recipe = _recipe(backend, body)
    row = EngineVersion(
        backend=backend,
        version=body.version,
        device_kind=body.device_kind,
        recipe=document(recipe),
        created_by=created_by,
        created_at=context.ports.clock.wall(),
    )
    async with context.db.write() as session:
        await _add_workers(session, row, body)
        _must_fit(await _judged(session, row, recipe), named=bool(body.workers))
        row = await _written(session, row)
        if body.default:
            await engine_versions.make_default(session, row)
        await _tell(context, session, "engine_version_wanted", row)
        shown_as = await engine_versions.document_of(session, row)
    context.signals.touch("assignments", "workers", "changes")
    return shown_as


def _check(backend: str, body: EngineVersionCreate) -> None:
    """Raises:
    NotFound, Refusal: no such engine, or it does not run on such devices; a name that is none.
    """
    if backend not in registry.names():
        raise NotFound("backend", body.backend)
    kinds = registry.find(backend).device_kinds
    if body.device_kind not in kinds:
        told = {"backend": backend, "kind": body.device_kind, "kinds": ", ".join(sorted(kinds))}
        raise Refusal("engine_not_for_kind", param="device_kind", **told)  # type: ignore[arg-type]  # none is named so
    if not _VERSION.fullmatch(body.version):
        raise Refusal("engine_version_malformed", param="version", version=body.version)


def _recipe(backend: str, body: EngineVersionCreate) -> Recipe:
    if body.path is not None and body.image is not None:
        raise Refusal("engine_path_and_image", param="image")
    if body.path is not None:
        if not body.path.startswith("/"):
            raise Refusal("engine_path_relative", param="path", path=body.path)
        return recipes.at_path(body.path)
    if body.image is not None:
        if not _IMAGE.fullmatch(body.image):
            raise Refusal("engine_image_malformed", param="image", image=body.image)
        return recipes.of_image(backend, body.image)
    return recipes.recipe(backend, body.version, body.device_kind)


async def _add_workers(session: AsyncSession, row: EngineVersion, body: EngineVersionCreate) -> None:
    found = [await workers.by_ref(session, each) for each in body.workers]
    row.workers = sorted({each.name for each in found})


async def _judged(session: AsyncSession, row: EngineVersion, recipe: Recipe) -> list[Verdict]:
    """One verdict per worker that is to have it and has such devices: its best."""
    found = []
    for worker in await session.exec(select(Worker).order_by(col(Worker.name))):
        if not row.workers or worker.name in row.workers:
            devices = await session.exec(select(WorkerDevice).where(WorkerDevice.worker_id == worker.id))
            chips = {(each.chip, each.compute_capability) for each in devices if each.kind == row.device_kind}
            found += [_best(worker, row, recipe, chips)] if chips else []
    return found


def _best(worker: Worker, row: EngineVersion, recipe: Recipe, chips: set[tuple[str, str | None]]) -> Verdict:
    host, in_image = Host.of(worker.host, worker.name), recipe.kind == "image"
    every = [
        verdict(host, chip, row.backend, row.version, brings_cann=in_image, compute=compute)
        for chip, compute in sorted(chips, key=str)
    ]
    return next((each for each in every if each.status != "wrong"), every[0])


def _must_fit(verdicts: list[Verdict], *, named: bool) -> None:
    """Refused where nobody could run it, or one who was named could not; the sentence says what would be right.

    Raises:
        Refusal: what is wrong and what would be right, in one sentence.
    """
    wrong = [each for each in verdicts if each.status == "wrong"]
    if wrong and (named or len(wrong) == len(verdicts)):
        said, remedy = wrong[0].said, wrong[0].remedy
        code = said.code if remedy is None else f"{said.code}_{remedy.code}"
        told = {**said.params, **(remedy.params if remedy else {})}
        raise Refusal(code, param="version", **told)  # type: ignore[arg-type]  # no param is named so


async def _written(session: AsyncSession, row: EngineVersion) -> EngineVersion:
    """Raises:
    Refusal: `engine_version_exists`, made in another way.
    """
    known = await engine_versions.same_as(session, row)
    if known is None:
        await engine_versions.put(session, row)
        return row
    if known.recipe != row.recipe:
        raise Refusal("engine_version_exists", status=409, backend=row.backend, version=row.version, id=known.id)
    known.workers = sorted({*known.workers, *row.workers}) if known.workers and row.workers else []
    await engine_versions.put(session, known)
    return known


async def listed(context: Context, backend: str | None) -> list[dict[str, Any]]:
    async with context.db.read() as session:
        every = await engine_versions.documents(session)
    return [each for each in every if backend is None or each["backend"] == backend]


async def shown(context: Context, ref: str) -> dict[str, Any]:
    async with context.db.read() as session:
        return await engine_versions.document_of(session, await engine_versions.by_ref(session, ref))


async def set_default(context: Context, ref: str) -> dict[str, Any]:
    """What runs keeps its build; what is placed from now on takes this one."""
    async with context.db.write() as session:
        row = await engine_versions.by_ref(session, ref)
        await engine_versions.make_default(session, row)
        auditing.note(session, "set_default", "engine_version", row.id, row.backend, after={"version": row.version})
        await _tell(context, session, "engine_version_default", row)
        shown_as = await engine_versions.document_of(session, row)
    context.signals.touch("assignments", "instances", "workers", "changes")
    return shown_as


async def remove(context: Context, ref: str) -> None:
    async with context.db.write() as session:
        row = await engine_versions.by_ref(session, ref)
        await engine_versions.must_be_free(session, row)
        await _tell(context, session, "engine_version_removed", row)
        await engine_versions.remove(session, row)
    context.signals.touch("assignments", "workers", "changes")


async def _tell(context: Context, session: AsyncSession, kind: str, row: EngineVersion) -> None:
    params = {"backend": row.backend, "version": row.version, "device_kind": row.device_kind}
    await events.insert_event(session, context.ports.clock, kind, params=params)
