"""Users, and who is behind a credential."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.tables import User
from gpustack_lite.errors import NotFound

FIRST_ADMIN = "admin"
_LISTING = Listing(
    sorts={"id": col(User.id), "username": col(User.username)}, searched=[col(User.username)], unique=col(User.id)
)


async def by_name(session: AsyncSession, username: str) -> User | None:
    return (await session.exec(select(User).where(User.username == username))).one_or_none()


async def by_ref(session: AsyncSession, ref: str) -> User:
    """Raises:
    NotFound: neither the id nor the name of a user.
    """
    found = await session.get(User, int(ref)) if is_id(ref) else await by_name(session, ref)
    if found is None:
        raise NotFound("user", ref)
    return found


async def listed(session: AsyncSession, wish: Wish) -> Page[User]:
    return await page(session, User, _LISTING, wish)


async def names_by_id(session: AsyncSession) -> dict[int, str]:
    return {id_: name for id_, name in await session.exec(select(User.id, User.username)) if id_ is not None}


def is_id(ref: str) -> bool:
    """Whether an address in a path is an id rather than a name; names are never made of digits alone."""
    return ref.isascii() and ref.isdigit() and len(ref) <= 18
