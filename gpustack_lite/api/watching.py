"""The stream behind /watch: every change in order, from a position that the reader names."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from gpustack_lite.access import Sight
from gpustack_lite.api import seeing
from gpustack_lite.api.auth import SignedInCaller
from gpustack_lite.api.context import Context
from gpustack_lite.api.streams import still_holds, ticks
from gpustack_lite.db.queries import changes_read, events_read
from gpustack_lite.db.queries.changes_read import Gap
from gpustack_lite.db.tables import Change
from gpustack_lite.messages import Language, localise

KEEP_ALIVE_SECONDS = 10.0
_SHARED = frozenset({"model", "model_route", "instance", "event", "worker", "device", "backend"})
"""Kinds that others than administrators hear of; of something that is gone they hear its number alone."""


async def stream(
    context: Context, signed_in: SignedInCaller, after: int | None, language: Language
) -> AsyncGenerator[bytes]:
    """`hello` with the position it goes on from, then changes; `reset` where the log does not reach.

    Ends with the server, and when the reader's credential holds no more.
    """
    async with context.db.read() as session:
        current = await changes_read.revision(session)
    position = current if after is None else after
    yield _event("hello", position, {"revision": position})
    said_at = context.ports.clock.monotonic()
    async with aclosing(_batches(context, signed_in, position)) as batches:
        async for batch, sight in batches:
            now = context.ports.clock.monotonic()
            if text := _text(batch, signed_in, sight, language):
                yield text
            elif now - said_at >= KEEP_ALIVE_SECONDS:
                yield b": alive\n\n"
            else:
                continue
            said_at = now


async def _batches(
    context: Context, signed_in: SignedInCaller, position: int
) -> AsyncGenerator[tuple[list[Change] | Gap, Sight]]:
    async with aclosing(ticks(context, ("changes", "credentials"))) as waking:
        async for _ in waking:
            if not await still_holds(context, signed_in):
                return
            while True:
                async with context.streams, context.db.read() as session:
                    found = await changes_read.behind(session, position)
                    sight = await seeing.sight_of(session, signed_in.caller) if found else Sight()
                yield found, sight
                if not found:
                    break
                position = found.revision if isinstance(found, Gap) else found[-1].id


def _text(batch: list[Change] | Gap, signed_in: SignedInCaller, sight: Sight, language: Language) -> bytes:
    if isinstance(batch, Gap):
        return _event("reset", batch.revision, {"revision": batch.revision})
    return b"".join(_change(change, language) for change in batch if _may_see(signed_in, change, sight))


def _may_see(signed_in: SignedInCaller, change: Change, sight: Sight) -> bool:
    """Keys are their owner's affair, users, groups and files an administrator's, who sees all."""
    if sight.is_whole:
        return True
    if change.kind == "key":
        return change.document is not None and change.document.get("user_id") == signed_in.caller.user_id
    if change.kind not in _SHARED:
        return False
    return change.document is None or _is_shown(change.kind, change.document, sight)


def _is_shown(kind: str, document: dict[str, Any], sight: Sight) -> bool:
    match kind:
        case "model":
            return document.get("id") not in sight.models
        case "model_route":
            return document.get("name") not in sight.names
        case "instance":
            return document.get("model_id") not in sight.models
        case "event":
            return events_read.is_public(document, sight)
        case _:
            return True


def _change(change: Change, language: Language) -> bytes:
    told = {
        "kind": change.kind,
        "op": change.op,
        "id": change.object_id,
        "document": localise(change.document, language),
    }
    return _event(None, change.id, told)


def _event(name: str | None, position: int, data: dict[str, Any]) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}id: {position}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
