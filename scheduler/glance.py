"""The short way: most workers are in order and have devices of one chip, and a question mostly asks for nothing odd.

What is answered here the checks and the ranking answer in the same words; a test holds the two together.
"""

from scheduler.checks import READING_TRUSTED_SECONDS, Ask
from scheduler.node import Node
from scheduler.pools import Rooms
from scheduler.rank import NETWORK, Candidate


def is_plain(ask: Ask) -> bool:
    """Whether a glance may do: one device of any chip, anywhere, for files that need no room."""
    wish, claim = ask.wish, ask.claim
    asks_more = wish.worker_labels or wish.apart or ask.chosen is not None or ask.chips is not None
    return claim.device_count == 1 and claim.disk_bytes == 0 and not asks_more


def glance(node: Node, ask: Ask) -> Candidate | None:
    """The candidate of a plain question; None where the long way must be asked."""
    pools = node.pools
    if node.refusal is not None or len(pools) != 1 or not node.alive or node.drained:
        return None
    claim, pool, about = ask.claim, pools[0], ask.about
    rooms = pool.shared_rooms if ask.shares else pool.rooms
    needed, ram, backend = claim.bytes_per_device, node.free_ram_bytes, ask.backend
    if not rooms or pool.ram_bytes is not None or pool.kind not in claim.device_kinds or ram is None:
        return None
    is_old = (node.reading_age_seconds or 0) > READING_TRUSTED_SECONDS
    if is_old or rooms[0].free_bytes < needed or ram < claim.ram_bytes:
        return None
    if backend is not None and backend not in node.backends:
        return None
    lacks = 2 * (about.source not in node.sources) + (backend not in node.engines)
    share = (pool.room_bytes - needed) / (pool.capacity_bytes or 1)
    network = node.labels.get(NETWORK, "") if node.labels else ""
    if ask.wish.strategy == "binpack":
        taken = _fullest(rooms, needed)
        return Candidate((1, lacks, taken[0].free_bytes - needed, share), node.name, pool.chip, network, taken)
    key = (1, node.models.get(about.model or "", 0), lacks, -share, needed - rooms[0].free_bytes)
    return Candidate(key, node.name, pool.chip, network, rooms[:1])


def _fullest(rooms: Rooms, needed_bytes: int) -> Rooms:
    """Of those that have room enough, which is one at least."""
    return (min([room for room in rooms if room.free_bytes >= needed_bytes]),)
