"""The data plane in small: requests whose tokens the engine knows, a spool, and the ledger that they end up in."""

import zlib
from dataclasses import dataclass, field

from tests.sim.rules import Rules


def engine_tokens(request_id: str) -> int:
    """What the engine of a request truly produced."""
    return zlib.crc32(request_id.encode()) % 1000


@dataclass
class Gateway:
    """`truth` is what engines did; `spool` is on disk and keeps a row until its delivery was acknowledged."""

    truth: dict[str, int] = field(default_factory=dict)
    spool: dict[str, int] = field(default_factory=dict)

    def serve(self) -> str:
        request_id = f"r{len(self.truth) + 1}"
        self.truth[request_id] = self.spool[request_id] = engine_tokens(request_id)
        return request_id

    def batch(self, rules: Rules) -> tuple[tuple[str, int], ...]:
        rows = tuple(self.spool.items())
        if rules.forgets_when_sent:
            self.spool.clear()
        return rows

    def acknowledged(self, request_ids: tuple[str, ...]) -> None:
        for request_id in request_ids:
            self.spool.pop(request_id, None)


@dataclass
class Ledger:
    """Rows as a table without a primary key would take them: whether a row is known decides the rule."""

    rows: list[tuple[str, int]] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def insert_once(self, rows: tuple[tuple[str, int], ...], rules: Rules) -> None:
        for request_id, tokens in rows:
            if not rules.is_counted(request_id, self.known):
                self.rows.append((request_id, tokens))
                self.known.add(request_id)
