"""API keys: only digests are kept."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import and_, or_
from sqlmodel import col, select, update
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.queries.users import is_id
from gpustack_lite.db.tables import ApiKey, User
from gpustack_lite.errors import NotFound, Refusal

_LISTING = Listing(
    sorts={"id": col(ApiKey.id), "name": col(ApiKey.name), "created_at": col(ApiKey.created_at)},
    searched=[col(ApiKey.name), col(ApiKey.prefix)],
    unique=col(ApiKey.id),
)


async def with_user(session: AsyncSession, digest: str, now: datetime) -> tuple[ApiKey, User] | None:
    """A key that still holds, of a user who is still active."""
    statement = select(ApiKey, User).join(User, col(User.id) == col(ApiKey.user_id))
    holds = or_(col(ApiKey.expires_at).is_(None), col(ApiKey.expires_at) > now)
    rotated = and_(col(ApiKey.previous_digest) == digest, col(ApiKey.previous_until) > now)
    is_it = or_(col(ApiKey.digest) == digest, rotated)
    return (await session.exec(statement.where(is_it, holds, col(User.active)))).one_or_none()


async def listed(session: AsyncSession, wish: Wish, owner: int | None) -> Page[ApiKey]:
    """Of one user, or of everybody where `owner` is None."""
    return await page(session, ApiKey, _LISTING, wish, [] if owner is None else [col(ApiKey.user_id) == owner])


async def by_ref(session: AsyncSession, ref: str, owner: int | None) -> ApiKey:
    """Raises:
    NotFound: no such key, or the key of somebody else.
    Refusal: `key_ambiguous`, when a name is worn by several.
    """
    wanted = [col(ApiKey.id) == int(ref) if is_id(ref) else col(ApiKey.name) == ref]
    wanted += [] if owner is None else [col(ApiKey.user_id) == owner]
    found = (await session.exec(select(ApiKey).where(*wanted).order_by(col(ApiKey.id)))).all()
    if not found:
        raise NotFound("key", ref)
    if len(found) > 1:
        raise Refusal("key_ambiguous", status=409, name=ref, ids=", ".join(str(key.id) for key in found[:10]))
    return found[0]


async def note_use(session: AsyncSession, last_used_at: Mapping[int, datetime]) -> None:
    """Move `last_used_at` forward, never back: usage arrives late and out of order."""
    for key_id, moment in sorted(last_used_at.items()):
        is_later = or_(col(ApiKey.last_used_at).is_(None), col(ApiKey.last_used_at) < moment)
        await session.exec(update(ApiKey).where(col(ApiKey.id) == key_id, is_later).values(last_used_at=moment))
