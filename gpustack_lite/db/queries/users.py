"""Users, and who is behind a credential."""

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gpustack_lite.db.documents import user_document
from gpustack_lite.db.queries import changes
from gpustack_lite.db.queries.paging import Listing, Page, Wish, page
from gpustack_lite.db.tables import ApiKey, GroupMember, LoginSession, User
from gpustack_lite.errors import NotFound
from gpustack_lite.ports import Clock

FIRST_ADMIN = "admin"
LOCAL = "local"
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


async def host_admin(session: AsyncSession) -> User | None:
    """As whom the command line of the server's own host acts: the oldest administrator who is active."""
    admins = select(User).where(User.role == "admin")
    return (await session.exec(admins.order_by(col(User.active).desc(), col(User.id)).limit(1))).first()


async def other_admins(session: AsyncSession, user_id: int) -> int:
    """How many active administrators there are beside this user, who stay so until the transaction ends."""
    admins = select(User.id).where(User.role == "admin", col(User.active).is_(True)).with_for_update()
    return sum(found != user_id for found in await session.exec(admins))


async def record_put(session: AsyncSession, user: User, clock: Clock) -> None:
    """Write down that the user is now like this."""
    session.add(user)
    await session.flush()
    await changes.record(session, "user", "put", user.id or 0, user_document(user), clock)


async def remove(session: AsyncSession, user: User, clock: Clock) -> None:
    """With all that lets somebody in as this user. What the user made for others stays."""
    for key in await session.exec(select(ApiKey).where(ApiKey.user_id == user.id)):
        await session.delete(key)  # one by one: each is in the audit log
    for table in (LoginSession, GroupMember):
        await session.exec(delete(table).where(col(table.user_id) == user.id))
    await session.delete(user)
    await session.flush()
    await changes.record(session, "user", "delete", user.id or 0, None, clock)


async def names_by_id(session: AsyncSession) -> dict[int, str]:
    return {id_: name for id_, name in await session.exec(select(User.id, User.username)) if id_ is not None}


def is_id(ref: str) -> bool:
    """Whether an address in a path is an id rather than a name; names are never made of digits alone."""
    return ref.isascii() and ref.isdigit() and len(ref) <= 18
