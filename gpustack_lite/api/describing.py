"""Backends as people see them: those that come with the program, and those that somebody described."""

from collections.abc import Mapping
from typing import Any

from backends import registry, support
from backends.base import Backend
from gpustack_lite.api import rules
from gpustack_lite.api.context import Context
from gpustack_lite.api.specs import backend_named
from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries import backends, events, models
from gpustack_lite.db.tables import CustomBackend
from gpustack_lite.errors import NotFound, Refusal


def document(backend: Backend, row: CustomBackend | None = None) -> dict[str, Any]:
    return {
        "id": None if row is None else row.id,
        "name": backend.name if row is None else row.name,
        "builtin": row is None,
        "device_kinds": sorted(backend.device_kinds),
        "support": support.levels(backend),
        "paths": sorted(backend.paths),
        "options": [
            {"name": each.name, "kind": each.kind, "help": each.help, "choices": list(each.choices)}
            for each in backend.known_options
        ],
        "spec": None if row is None else row.spec,
        "created_at": None if row is None else iso(row.created_at),
    }


async def listed(context: Context) -> list[dict[str, Any]]:
    async with context.db.read() as session:
        described = await backends.all_custom(session)
    builtin = [document(registry.find(name)) for name in registry.names()]
    return builtin + [_described(row) for row in described]


def _described(row: CustomBackend) -> dict[str, Any]:
    return document(registry.with_custom({"name": row.name, **row.spec}), row)


async def shown(context: Context, name: str) -> dict[str, Any]:
    found = [each for each in await listed(context) if each["name"] == name]
    if not found:
        raise NotFound("backend", name)
    return found[0]


async def create(context: Context, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Only described, never run here: what it launches is launched by workers, for a model that an admin makes."""
    rules.check_plain(spec, "backend")
    registry.with_custom(spec)
    name = str(spec["name"])
    rules.check_name(name)
    clock = context.ports.clock
    async with context.db.write() as session:
        if name in {*registry.names(), "versions"} or await backends.custom(session, name) is not None:
            raise Refusal("backend_exists", status=409, param="name", name=name)
        kept = {key: value for key, value in spec.items() if key != "name"}
        row = CustomBackend(name=name, spec=kept, created_at=clock.wall())
        session.add(row)
        await session.flush()
        await events.insert_event(session, clock, "backend_created", params={"name": name})
    context.signals.touch("instances", "changes")
    return _described(row)


async def delete(context: Context, name: str) -> None:
    async with context.db.write() as session:
        row = await backends.custom(session, name)
        if row is None:
            raise (
                Refusal("backend_builtin", status=409, name=name)
                if name in registry.names()
                else NotFound("backend", name)
            )
        if used_by := await models.using_backend(session, name):
            raise Refusal("backend_in_use", status=409, name=name, model=used_by)
        await session.delete(row)
        await events.insert_event(session, context.ports.clock, "backend_deleted", params={"name": name})
    context.signals.touch("changes")


async def versions(context: Context, name: str) -> list[dict[str, Any]]:
    """What the installer can make, the default first, and what workers have beside it."""
    await shown(context, name)
    backend = await backend_named(context, name)
    async with context.db.read() as session:
        reported = await backends.reported_versions(session, name)
    known = list(backend.versions()) if backend is not None else []
    rows = [
        {
            "version": each.version,
            "device_kinds": sorted(each.device_kinds),
            "source": each.source,
            "is_default": position == 0,
            "workers": reported.pop((each.version, each.source), []),
        }
        for position, each in enumerate(known)
    ]
    kinds = sorted(backend.device_kinds) if backend is not None else []
    return rows + [
        {"version": version, "device_kinds": kinds, "source": source, "is_default": False, "workers": names}
        for (version, source), names in sorted(reported.items())
    ]
