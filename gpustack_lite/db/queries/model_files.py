"""Files of repositories on workers: asked for through Assignments, told of in StatusReports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, false, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import model_file_document
from gpustack_lite.db.queries import changes, events, members, moves
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import ModelFile, ModelInstance, Worker
from gpustack_lite.errors import NotFound, Refusal
from gpustack_lite.ports import Clock
from gpustack_lite.wire import AssignedFiles, FilesStatus

_COPIED = ("state", "path", "commit", "size_bytes", "done_bytes", "bytes_per_second")
_LISTING = Listing(
    sorts={
        "id": col(ModelFile.id),
        "source": col(ModelFile.source),
        "state": col(ModelFile.state),
        "created_at": col(ModelFile.created_at),
        "updated_at": col(ModelFile.updated_at),
    },
    searched=[col(ModelFile.source), col(ModelFile.state)],
    unique=col(ModelFile.id),
)


@dataclass(frozen=True, slots=True)
class FilesWish:
    """What of which repository; the same wish on the same worker is one row, however many instances have it."""

    source: str
    revision: str | None = None
    include: tuple[str, ...] = ()
    format: str | None = None


async def by_ref(session: AsyncSession, ref: str) -> ModelFile:
    """Raises:
    NotFound: no such files.
    """
    found = await session.get(ModelFile, int(ref)) if is_id(ref) else None
    if found is None:
        raise NotFound("files", ref)
    return found


async def listed(session: AsyncSession, wish: Wish, *, worker_id: int | None = None) -> Page[dict[str, Any]]:
    where = [] if worker_id is None else [col(ModelFile.worker_id) == worker_id]
    found = await page(session, ModelFile, _LISTING, wish, where)
    names = {id_: name for id_, name in await session.exec(select(Worker.id, Worker.name))}
    users = await _users(session, {row.worker_id for row in found.items})
    return found.map(lambda row: model_file_document(row, names.get(row.worker_id), users.get(row.id or 0, [])))


async def document(session: AsyncSession, row: ModelFile) -> dict[str, Any]:
    worker = await session.get(Worker, row.worker_id)
    return model_file_document(row, worker.name if worker else None, await users_of(session, row))


async def users_of(session: AsyncSession, row: ModelFile) -> list[ModelInstance]:
    """The instances that need these files: those that were placed for them and have not ended."""
    return (await _users(session, {row.worker_id})).get(row.id or 0, [])


async def _users(session: AsyncSession, worker_ids: Iterable[int]) -> dict[int, list[ModelInstance]]:
    placed = select(ModelInstance).where(or_(false(), *map(members.is_on, set(worker_ids))))
    grouped: dict[int, list[ModelInstance]] = {}
    for each in await session.exec(placed.order_by(col(ModelInstance.id))):
        for share in [each.assigned or {}, *[member["assigned"] for member in each.members[1:]]]:
            if (files_id := share.get("files_id")) is not None:
                grouped.setdefault(files_id, []).append(each)
    return grouped


async def of_worker(session: AsyncSession, worker_id: int) -> list[ModelFile]:
    rows = select(ModelFile).where(ModelFile.worker_id == worker_id).order_by(col(ModelFile.id))
    return list(await session.exec(rows))


def assigned(row: ModelFile) -> AssignedFiles:
    names = ("id", "source", "revision", "include", "format", "wanted")
    return AssignedFiles.model_validate({name: getattr(row, name) for name in names})


async def ensure(
    session: AsyncSession, worker_id: int, wish: FilesWish, clock: Clock, created_by: int | None = None
) -> ModelFile:
    """The row for this wish; what was paused or is being deleted is wanted again. The Assignment is the caller's."""
    row = next((each for each in await of_worker(session, worker_id) if _wish_of(each) == wish), None)
    if row is not None and row.wanted == "present":
        return row
    now = clock.wall()
    if row is None:
        row = ModelFile(worker_id=worker_id, source=wish.source, created_by=created_by, created_at=now, updated_at=now)
        row.revision, row.include, row.format = wish.revision, list(wish.include), wish.format
    row.wanted, row.state, row.said = "present", "waiting", None
    await put(session, row, clock)
    return row


def _wish_of(row: ModelFile) -> FilesWish:
    return FilesWish(row.source, row.revision, tuple(row.include), row.format)


async def want(session: AsyncSession, row: ModelFile, wanted: str, clock: Clock) -> None:
    """Touch "assignments" after the commit."""
    if row.wanted == wanted:
        return
    row.wanted = wanted
    await put(session, row, clock)
    await moves.change_assignment(session, row.worker_id)


async def must_be_free(session: AsyncSession, row: ModelFile) -> None:
    """Raises:
    Refusal: `files_in_use`, naming who needs them.
    """
    if users := await users_of(session, row):
        names = ", ".join(f"{each.model_name} #{each.id}" for each in users[:10])
        raise Refusal("files_in_use", status=409, id=row.id, source=row.source, instances=names)


async def put(session: AsyncSession, row: ModelFile, clock: Clock) -> None:
    row.updated_at = clock.wall()
    session.add(row)
    await session.flush()
    await changes.record(session, "file", "put", row.id or 0, await document(session, row), clock)


async def remove(session: AsyncSession, row: ModelFile, clock: Clock) -> None:
    await session.delete(row)
    await session.flush()
    await changes.record(session, "file", "delete", row.id or 0, None, clock)


async def remove_of_worker(session: AsyncSession, worker_id: int, clock: Clock) -> None:
    """The worker was deleted; what lies on its disk stays there."""
    for row in await of_worker(session, worker_id):
        await remove(session, row, clock)


# --- what workers tell


async def take(session: AsyncSession, worker_id: int, reports: Sequence[FilesStatus], clock: Clock) -> set[str]:
    """Topics to touch after the commit."""
    rows = {row.id: row for row in await of_worker(session, worker_id)} if reports else {}
    topics: set[str] = set()
    for report in reports:
        row = rows.get(report.id)
        if row is not None:
            topics |= await _take_one(session, row, report, clock)
    return topics


async def _take_one(session: AsyncSession, row: ModelFile, report: FilesStatus, clock: Clock) -> set[str]:
    if report.state == "gone":
        return await _gone(session, row, clock)
    new = {name: getattr(report, name) for name in _COPIED}
    new["said"] = report.said.model_dump() if report.said else None
    before, changed = row.state, {name: value for name, value in new.items() if getattr(row, name) != value}
    if not changed or (row.wanted == "absent" and report.state != "deleting"):
        return set()
    for name, value in changed.items():
        setattr(row, name, value)
    await put(session, row, clock)
    if row.state != before and row.state in {"ready", "failed"}:
        await _tell(session, row, f"files_{row.state}", clock)
    return {"files", "changes"}


async def _gone(session: AsyncSession, row: ModelFile, clock: Clock) -> set[str]:
    """Only of what is still to go: a late report says nothing of what was asked for since."""
    if row.wanted != "absent":
        return set()
    await _tell(session, row, "files_deleted", clock)
    await remove(session, row, clock)
    await moves.change_assignment(session, row.worker_id)
    return {"files", "changes", "assignments"}


async def _tell(session: AsyncSession, row: ModelFile, kind: str, clock: Clock) -> None:
    worker, said = await session.get(Worker, row.worker_id), row.said
    params = {"source": row.source, "size_bytes": row.size_bytes, "files_id": row.id}
    code = said["code"] if said else None
    params |= said["params"] if said else {}
    await events.insert_event(session, clock, kind, worker=worker, code=code, params=params)
