"""Admission of one call, from memory: is what we know still good, and who is asking."""

from gpustack_lite.gateway import credentials
from gpustack_lite.gateway.call import Call, Head
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
        if scopes is INFERENCE and call.headers is call.head.headers:
            return self.admit_head(call.head)
        self._freshness.check()
        return credentials.admit(call.method, call.headers, self._table.credential, self._wall, scopes)

    def admit_head(self, head: Head) -> Credential:
        """For inference. What follows from the same bytes is known until the credentials change."""
        self._freshness.check()
        revision, known = self._table.credentials_revision, head.admitted
        if known is not None and known[0] is revision:
            return known[1]
        credential = credentials.admit(head.method, head.headers, self._table.credential, self._wall, INFERENCE)
        if credential.expires_at is None:
            head.admitted = revision, credential
        return credential

    def known(self, call: Call) -> Credential | None:
        """Whose credential it is, whether or not it still holds."""
        given = credentials.presented(call.headers)
        return None if given is None else self._table.credential(credentials.digest(given.secret))
