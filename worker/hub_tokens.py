"""Tokens of hubs that the server keeps: asked for when a hub is asked, held in memory, never written anywhere."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic import ValidationError

from gpustack_lite.httpx_alone import httpx
from gpustack_lite.hub.hubs import Hubs
from gpustack_lite.ports import Clock
from gpustack_lite.wire import HubToken
from worker.link import PREFIX, ServerAddress

log = logging.getLogger(__name__)
HELD_SECONDS = 60.0
NONE_HELD_SECONDS = 2.0
"""Whoever has just set one should not wait for it."""


@dataclass(frozen=True, slots=True)
class _Held:
    token: str | None = field(repr=False)
    until: float


class HubTokens:
    """Blocks: for the threads that ask hubs. `credential` is asked anew each time, because joining again changes it."""

    def __init__(self, address: ServerAddress, credential: Callable[[], str | None], clock: Clock) -> None:
        self._address = address
        self._credential = credential
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._asking = threading.Lock()

    def of(self, hub: str) -> str | None:
        """None where nobody set one. While the server is away, what it said last."""
        with self._asking:
            now = self._clock.monotonic()
            held = self._held.get(hub)
            if held is None or now >= held.until:
                token = self._asked(hub, None if held is None else held.token)
                held = _Held(token, now + (NONE_HELD_SECONDS if token is None else HELD_SECONDS))
                self._held[hub] = held
            return held.token

    def _asked(self, hub: str, before: str | None) -> str | None:
        headers = {"authorization": f"Bearer {self._credential()}"}
        try:
            with self._address.blocking_client() as client:
                answer = client.get(f"{PREFIX}/hub-tokens/{hub}", headers=headers)
            answer.raise_for_status()
            return HubToken.model_validate_json(answer.content).token
        except (httpx.HTTPError, httpx.InvalidURL, ValidationError) as error:
            log.warning("hub_token_unknown", extra={"hub": hub, "why": type(error).__name__})
            return before


def with_tokens(hubs: Hubs, tokens: HubTokens) -> Hubs:
    """A token of this machine's own environment comes before the server's."""
    asking = {
        kind: each if each.token is not None else replace(each, ask=partial(tokens.of, kind))
        for kind, each in hubs.endpoints.items()
    }
    return replace(hubs, endpoints=asking)
