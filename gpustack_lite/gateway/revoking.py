"""Ends the requests in flight of a credential that holds no more: revoked, disabled, or past its time."""

import logging
from collections.abc import Callable
from datetime import datetime

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import credentials
from gpustack_lite.gateway.ledger import Ledger
from gpustack_lite.wire import Credential

log = logging.getLogger(__name__)


class Revoker:
    def __init__(self, ledger: Ledger, find: Callable[[str], Credential | None], wall: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._find = find
        self._wall = wall

    def look(self) -> None:
        """Call a few times a second: what it finds is over within that time."""
        now = self._wall()
        for credential in {entry.credential.digest for entry in self._ledger.running}:
            if (why := credentials.why_not(self._find(credential), now)) is not None:
                self._end(credential, why.code)

    def _end(self, digest: str, why: str) -> None:
        entries = [entry for entry in self._ledger.running if entry.credential.digest == digest]
        for entry in entries:
            if entry.cut is not None:
                cut, entry.cut = entry.cut, None
                refusal = Refusal("key_revoked", status=401)
                entry.end(refusal.status, refusal.code)
                cut(refusal)
        log.info("requests_revoked", extra={"requests": len(entries), "why": why})
