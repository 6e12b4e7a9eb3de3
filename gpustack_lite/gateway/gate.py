"""Admission of one call, from memory: is what we know still good, and who is asking."""

from gpustack_lite.gateway import credentials
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.freshness import Freshness
from gpustack_lite.gateway.routes import RouteTable
from gpustack_lite.ports import Clock
from gpustack_lite.wire import Credential

INFERENCE = frozenset({"inference"})
READING = frozenset({"read", "manage"})


class Gate:
    def __init__(self, table: RouteTable, freshness: Freshness, clock: Clock) -> None:
        self._table = table
        self._freshness = freshness
        self._wall = clock.wall

    def admit(self, call: Call, scopes: frozenset[str] = INFERENCE) -> Credential:
        """
        Raises:
            Refusal: 503 without usable routes, 401 without a valid credential, 403 when it is not made for this.
        """
        self._freshness.check()
        revision, known = self._table.credentials_revision, call.head.admitted
        if known is not None and known[0] is revision and scopes is INFERENCE:
            return known[1]
        credential = credentials.admit(call.method, call.headers, self._table.credential, self._wall, scopes)
        if scopes is INFERENCE and credential.expires_at is None:
            call.head.admitted = revision, credential
        return credential

    def known(self, call: Call) -> Credential | None:
        """Whose credential it is, whether or not it still holds."""
        given = credentials.presented(call.headers)
        return None if given is None else self._table.credential(credentials.digest(given.secret))
