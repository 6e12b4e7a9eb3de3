"""Writes down what people change, in the transaction of the change: by watching it, so that no route can forget.

A route only says what to call it (`note`), where that is more than create, update or delete.
"""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event, inspect
from sqlalchemy.orm import ORMExecuteState
from sqlalchemy.orm import Session as SyncSession
from sqlmodel import SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite import acting
from gpustack_lite.acting import Actor
from gpustack_lite.audit import MASK
from gpustack_lite.db.audited import AUDITED, Audited
from gpustack_lite.db.documents import iso
from gpustack_lite.db.queries import audit
from gpustack_lite.db.queries.audit import Entry
from gpustack_lite.db.tables import Group, GroupMember, User, Worker, WorkerDevice
from gpustack_lite.ports import Clock

_PLACE = "audit"
Values = dict[str, Any]


class Unaudited(RuntimeError):
    """A transaction of a person changed an audited table and would have left no row: a mistake of ours."""


@dataclass(slots=True)
class _Draft:
    row: SQLModel
    is_new: bool = False
    is_gone: bool = False
    before: Values = field(default_factory=dict)
    after: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Note:
    entry: Entry
    actor: Actor | None


@dataclass(slots=True)
class _Notebook:
    drafts: dict[int, _Draft] = field(default_factory=dict)
    notes: list[_Note] = field(default_factory=list)
    is_touched: bool = False
    """By a statement over many rows, which shows none of them."""


def watch(session: AsyncSession) -> None:
    """To be called when a transaction begins that somebody acts in."""
    notebook = session.info[_PLACE] = _Notebook()
    event.listen(session.sync_session, "after_flush", lambda sync, _: _look(notebook, sync))
    event.listen(session.sync_session, "do_orm_execute", lambda state: _look_at_many(notebook, state))


def note(
    session: AsyncSession,
    action: str,
    kind: str,
    object_id: object,
    name: str,
    *,
    before: Values | None = None,
    after: Values | None = None,
    actor: Actor | None = None,
) -> None:
    """What to call it that this was done; with what changed in the row, if it did. For nobody, nothing is written."""
    notebook: _Notebook = session.info.setdefault(_PLACE, _Notebook())
    notebook.notes.append(_Note(Entry(action, kind, str(object_id), name, before, after), actor))


async def write_down(session: AsyncSession, clock: Clock) -> None:
    """Before the commit.

    Raises:
        Unaudited: something changed, and nothing would say so.
    """
    notebook: _Notebook | None = session.info.get(_PLACE)
    if notebook is None:
        return
    await session.flush()
    entries = await _entries(session, notebook)
    if notebook.is_touched and not entries:
        raise Unaudited("a change of many rows at once without a note")
    for entry, actor in entries:
        await audit.append(session, entry, actor, clock.wall())


async def _entries(session: AsyncSession, notebook: _Notebook) -> list[tuple[Entry, Actor]]:
    drafted = [await _entry(session, each) for each in notebook.drafts.values() if each.before or each.after]
    by_object = {(each.kind, each.object_id): each for each in drafted}
    found = []
    for each in notebook.notes:
        seen = by_object.pop((each.entry.kind, each.entry.object_id), None)
        found.append((each.entry if seen is None else each.entry.over(seen), each.actor or acting.current()))
    found += [(each, acting.current()) for each in by_object.values()]
    return [(entry, actor) for entry, actor in found if actor is not None]


def _look(notebook: _Notebook, session: SyncSession) -> None:
    """After each flush, while the session still tells what was new, changed and deleted in it."""
    for rows, keep in ((session.new, _keep_new), (session.dirty, _keep_changed), (session.deleted, _keep_gone)):
        for row in rows:
            if audited := AUDITED.get(type(row)):
                keep(notebook.drafts.setdefault(id(row), _Draft(row)), audited)


def _keep_new(draft: _Draft, audited: Audited) -> None:
    draft.is_new = True
    draft.after |= {name: getattr(draft.row, name) for name in audited.shown}


def _keep_gone(draft: _Draft, audited: Audited) -> None:
    draft.is_gone = True
    draft.before = {name: getattr(draft.row, name) for name in audited.shown} | draft.before


def _keep_changed(draft: _Draft, audited: Audited) -> None:
    state = inspect(draft.row)
    for name in (*audited.shown, *audited.hidden):
        history = state.attrs[name].history
        if not history.has_changes():
            continue
        is_hidden = name in audited.hidden
        old = history.deleted[0] if history.deleted else None
        draft.before.setdefault(name, MASK if is_hidden else old)
        draft.after[name] = MASK if is_hidden else history.added[0]


def _look_at_many(notebook: _Notebook, state: ORMExecuteState) -> None:
    if (state.is_update or state.is_delete or state.is_insert) and state.bind_mapper is not None:
        notebook.is_touched |= state.bind_mapper.class_ in AUDITED


async def _entry(session: AsyncSession, draft: _Draft) -> Entry:
    audited = AUDITED[type(draft.row)]
    action = "delete" if draft.is_gone else "create" if draft.is_new else "update"
    before = None if draft.is_new else _shown(draft.before)
    after = None if draft.is_gone else _shown(draft.after)
    key = "/".join(str(getattr(draft.row, each.key)) for each in inspect(type(draft.row)).primary_key)
    return Entry(action, audited.kind, key, await _name(session, draft.row, audited), before, after)


def _shown(values: Values) -> Values:
    return {name: iso(value) if hasattr(value, "isoformat") else value for name, value in values.items()}


async def _name(session: AsyncSession, row: SQLModel, audited: Audited) -> str:
    """As people say it: of a device the worker with it, of what belongs to a user that user's name."""
    if isinstance(row, WorkerDevice):
        worker = await session.get(Worker, row.worker_id)
        return f"{worker.name if worker else row.worker_id}:{row.index}"
    value = getattr(row, audited.name)
    if isinstance(row, GroupMember):
        group, user = await session.get(Group, row.group_id), await session.get(User, row.user_id)
        return f"{group.name if group else row.group_id}/{user.username if user else row.user_id}"
    if audited.name == "user_id":
        user = await session.get(User, value)
        return user.username if user else str(value)
    return str(value)
