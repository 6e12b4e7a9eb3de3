"""Sign-ins: one's own, and for an administrator everybody's."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gpustack_lite.api.auth import CredentialFirst, Owner, Reader
from gpustack_lite.api.context import Ctx
from gpustack_lite.api.keymaking import owner_of
from gpustack_lite.api.replies import PageWish, reply_page, shows
from gpustack_lite.api.schemas.public import Listed, SessionShape
from gpustack_lite.api.settling import settle
from gpustack_lite.db import auditing
from gpustack_lite.db.documents import session_document
from gpustack_lite.db.queries import events, sessions, users

router = APIRouter(prefix="/sessions", tags=["users"], route_class=CredentialFirst)


@router.get("", responses=shows(Listed[SessionShape]))
async def list_sessions(
    signed_in: Reader, request: Request, context: Ctx, wish: PageWish, user: str | None = None
) -> JSONResponse:
    """Those that hold. An administrator may name a `user`; others see their own."""
    caller, now = signed_in.caller, context.ports.clock.wall()
    async with context.db.read() as session:
        owner = owner_of(caller)
        if owner is None and user is not None:
            owner = (await users.by_ref(session, user)).id
        page = await sessions.listed(session, wish, owner, now)
        names = await users.names_by_id(session)
    own = caller.id if caller.kind == "session" else None
    return reply_page(
        request, page.map(lambda row: session_document(row, names.get(row.user_id), is_own=row.id == own))
    )


@router.delete("/{ref}", status_code=204)
async def end_session(ref: str, signed_in: Owner, context: Ctx) -> Response:
    """Committed, and known to every gateway that can be reached, before the caller hears of it."""
    async with context.db.write() as session:
        row = await sessions.by_ref(session, ref, owner_of(signed_in.caller))
        owner = await users.by_ref(session, str(row.user_id))
        await sessions.end(session, row.id or 0)
        auditing.note(session, "end", "session", row.id, owner.username, before={"address": row.address})
        params = {"user": owner.username, "address": row.address}
        await events.insert_event(session, context.ports.clock, "session_ended", params=params)
    context.signals.touch("credentials", "changes")
    await settle(context, row.digest, is_valid=False)
    return Response(status_code=204)
