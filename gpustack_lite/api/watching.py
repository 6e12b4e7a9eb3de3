"""The stream behind /watch: every change in order, from a position that the reader names."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from gpustack_lite.api.auth import SignedInCaller
from gpustack_lite.api.context import Context
from gpustack_lite.api.streams import still_holds, ticks
from gpustack_lite.db.queries import changes_read
from gpustack_lite.db.queries.changes_read import Gap
from gpustack_lite.db.tables import Change
from gpustack_lite.messages import Language, localise

KEEP_ALIVE_SECONDS = 10.0


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
        async for batch in batches:
            now = context.ports.clock.monotonic()
            if text := _text(batch, signed_in, language):
                yield text
            elif now - said_at >= KEEP_ALIVE_SECONDS:
                yield b": alive\n\n"
            else:
                continue
            said_at = now


async def _batches(context: Context, signed_in: SignedInCaller, position: int) -> AsyncGenerator[list[Change] | Gap]:
    async with aclosing(ticks(context, ("changes", "credentials"))) as waking:
        async for _ in waking:
            if not await still_holds(context, signed_in):
                return
            while True:
                async with context.streams, context.db.read() as session:
                    found = await changes_read.behind(session, position)
                yield found
                if not found:
                    break
                position = found.revision if isinstance(found, Gap) else found[-1].id


def _text(batch: list[Change] | Gap, signed_in: SignedInCaller, language: Language) -> bytes:
    if isinstance(batch, Gap):
        return _event("reset", batch.revision, {"revision": batch.revision})
    return b"".join(_change(change, language) for change in batch if _may_see(signed_in, change))


def _may_see(signed_in: SignedInCaller, change: Change) -> bool:
    """Keys are their owner's affair, users an administrator's, who sees all."""
    if signed_in.caller.is_admin or change.kind not in {"key", "user"}:
        return True
    return (
        change.kind == "key"
        and change.document is not None
        and change.document.get("user_id") == signed_in.caller.user_id
    )


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
