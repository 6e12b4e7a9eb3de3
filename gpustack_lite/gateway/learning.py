"""What a request's account says of the replica that served it."""

from gpustack_lite.gateway.balance import Flight, Observation
from gpustack_lite.gateway.ledger import CLIENT_GONE, Entry

_SPOKEN = frozenset({None, "engine_error"})
NOTHING = Observation(0.0, is_answered=False, is_alive=False)


def is_alive(flight: Flight, entry: Entry | None) -> bool:
    """Whether this engine said anything at all."""
    if entry is None or entry.instance_id != flight.instance_id:
        return False
    return entry.cause in _SPOKEN or entry.first_content is not None


def observation(flight: Flight, entry: Entry | None, now: float) -> Observation:
    """Nobody learns from an answer that has no token in it, nor from what another replica did for the same request."""
    if entry is None or entry.instance_id != flight.instance_id:
        return NOTHING
    has_spoken = is_alive(flight, entry)
    usage = entry.usage or (entry.events.usage if entry.events else None)
    if usage is None and entry.first_content is None:
        return Observation(now - flight.began, is_answered=False, is_alive=has_spoken)
    counted = entry.events.content_frames if entry.events else None
    return Observation(
        seconds=now - flight.began,
        first_seconds=None if entry.first_content is None else max(1e-4, entry.first_content - flight.began),
        prompt_tokens=usage.prompt_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else counted,
        is_answered=entry.status < CLIENT_GONE or entry.first_content is not None,
        is_alive=has_spoken,
    )
