"""Who says that an engine is stuck, at this moment."""

from collections.abc import Collection
from dataclasses import dataclass, field

SAID_SECONDS = 3.0
"""A gateway repeats each second what it thinks; what it said no more is taken back."""


@dataclass(slots=True)
class Verdicts:
    _said: dict[int, dict[str, float]] = field(default_factory=dict)

    def heard(self, gateway_id: str, stuck: Collection[int], now: float) -> None:
        for instance_id in stuck:
            self._said.setdefault(instance_id, {})[gateway_id] = now
        for instance_id, by in tuple(self._said.items()):
            self._said[instance_id] = {name: at for name, at in by.items() if now - at < SAID_SECONDS}
            if not self._said[instance_id]:
                del self._said[instance_id]

    def agreed(self, instance_id: int) -> frozenset[str]:
        """The gateways that say so."""
        return frozenset(self._said.get(instance_id, ()))
