"""Numbers what gateways must know, and keeps it in memory for their long polls, which wait for topic "routes"."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from gpustack_lite.db.engine import Database
from gpustack_lite.db.queries import cluster, publishing
from gpustack_lite.db.queries.publishing import Published
from gpustack_lite.ports import Clock
from gpustack_lite.server import routes
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Credential, ModelRoute, NamedRoute, RoutesReply

COALESCE_SECONDS = 0.1
ASKED_FOR = "publish_now"
"""The topic that wakes the step for a gateway that asks."""
_LOOKED = "publish_looked"


@dataclass(frozen=True, slots=True)
class Sections:
    """What one view says. The digests tell whether it differs from what was published."""

    models: tuple[ModelRoute, ...]
    routes: tuple[NamedRoute, ...]
    credentials: tuple[Credential, ...]

    @property
    def digests(self) -> tuple[str, str]:
        return _digest((*self.models, *self.routes)), _digest(self.credentials)


def _sections(view: Published) -> Sections:
    return Sections(routes.model_routes(view), routes.named_routes(view), routes.credentials(view))


def _digest(section: Sequence[BaseModel]) -> str:
    text = json.dumps([each.model_dump(mode="json") for each in section], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Publisher:
    """`newer` and `catch_up` for requests, `step` for the loop.

    Only under a lease are revisions moved; other servers read along.
    """

    def __init__(self, db: Database, signals: Signals, clock: Clock) -> None:
        self._db = db
        self._signals = signals
        self._clock = clock
        self._reply: RoutesReply | None = None
        self._digests: tuple[str, str] | None = None
        self._last_at = -COALESCE_SECONDS
        self._looks_begun = 0
        self._looks_ended = 0
        self.epoch: int | None = None
        """Of the lease that this server holds."""

    def newer(self, epoch: int, models_revision: int, credentials_revision: int) -> RoutesReply | None:
        now = self._reply
        if now is None:
            return None
        if now.epoch != epoch:
            return now
        models = None if now.models_revision == models_revision else now.models
        credentials = None if now.credentials_revision == credentials_revision else now.credentials
        if models is None and credentials is None:
            return None
        return now.model_copy(update={"models": models, "credentials": credentials})

    async def catch_up(self, seconds: float) -> None:
        """Until what is kept contains all that was committed before the call, or the time is over."""
        wanted = self._looks_begun + 1
        deadline = self._clock.monotonic() + seconds
        with self._signals.listen(_LOOKED) as listener:
            self._signals.touch(ASKED_FOR)
            while self._looks_ended < wanted and (left := deadline - self._clock.monotonic()) > 0:
                listener.clear()
                await listener.wait(left)

    async def step(self) -> float | None:
        await self._coalesce()
        self._looks_begun += 1
        async with self._db.read() as session:
            view = await publishing.view(session, self._clock.wall())
        sections = _sections(view)
        if self.epoch is not None and (sections.digests != self._digests or view.leaving):
            view, sections = await self._number(self.epoch)
        self._keep(view, sections)
        self._looks_ended = self._looks_begun
        self._signals.touch(_LOOKED)
        return None

    async def _coalesce(self) -> None:
        """The first change goes out at once; those that follow within 100 ms go out together."""
        too_early = self._last_at + COALESCE_SECONDS - self._clock.monotonic()
        if too_early > 0:
            await self._clock.sleep(too_early)
        self._last_at = self._clock.monotonic()

    async def _number(self, epoch: int) -> tuple[Published, Sections]:
        """In one transaction: read again, move the revisions of what changed, and note who left the routes."""
        async with self._db.write() as session:
            await cluster.guard(session, epoch)
            view = await publishing.view(session, self._clock.wall())
            sections = _sections(view)
            before = self._digests or ("", "")
            names = (cluster.MODELS, cluster.CREDENTIALS)
            for name, old, new in zip(names, before, sections.digests, strict=True):
                if old != new:
                    await cluster.next_counter(session, name)
            models_revision = await cluster.counter(session, cluster.MODELS)
            credentials_revision = await cluster.counter(session, cluster.CREDENTIALS)
            await publishing.mark_left(session, view.leaving, models_revision)
        self._digests = sections.digests
        self._signals.touch("drain")
        numbered = replace(view, models_revision=models_revision, credentials_revision=credentials_revision)
        return numbered, sections

    def _keep(self, view: Published, sections: Sections) -> None:
        reply = RoutesReply(
            epoch=view.epoch,
            models_revision=view.models_revision,
            credentials_revision=view.credentials_revision,
            models=sections.models,
            routes=sections.routes,
            credentials=sections.credentials,
        )
        if reply != self._reply:
            self._reply = reply
            self._signals.touch("routes")
