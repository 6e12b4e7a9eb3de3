"""What gateways said they hold, as far as this server was told."""

from dataclasses import dataclass, field

ALIVE_SECONDS = 3.0
"""Gateways speak every second."""
Held = tuple[int, int]
"""(epoch, revision) of the credentials."""


@dataclass(slots=True)
class Acknowledgements:
    """What gateways said they hold. Their question for routes comes first but names no gateway; their status does."""

    _asked: Held | None = None
    _reported: dict[str, tuple[Held, float]] = field(default_factory=dict)

    def asked(self, held: Held) -> None:
        self._asked = held

    def reported(self, gateway_id: str, held: Held, now: float) -> None:
        self._reported = {name: said for name, said in self._reported.items() if now - said[1] < ALIVE_SECONDS}
        self._reported[gateway_id] = held, now

    def alive(self, now: float) -> list[str]:
        """Their ids, in order."""
        return sorted(name for name, (_, at) in self._reported.items() if now - at < ALIVE_SECONDS)

    def all_hold(self, wanted: Held, now: float) -> bool:
        """An epoch that passed holds nothing. Where there is one gateway, its question says enough."""
        alive = [held for held, at in self._reported.values() if now - at < ALIVE_SECONDS]
        if len(alive) <= 1 and self._asked is not None and _covers(self._asked, wanted):
            return True
        return all(_covers(held, wanted) for held in alive)


def _covers(held: Held, wanted: Held) -> bool:
    return held[0] == wanted[0] and held[1] >= wanted[1]
