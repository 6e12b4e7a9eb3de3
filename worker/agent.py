"""The worker's talk with its server: takes the Assignment, makes it so, tells what became of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gpustack_lite.errors import Refusal, Unreachable
from gpustack_lite.httpx_alone import httpx
from gpustack_lite.loop import keep_reconciling
from gpustack_lite.ports import Ports
from gpustack_lite.signals import Signals
from gpustack_lite.wire import Assignment, FactsReport, StatusReport
from worker.builds import Builds
from worker.desired import Desired
from worker.downloads.store import Store
from worker.files import Files
from worker.instances import Instances
from worker.link import Link, parsed, retry_after
from worker.uploads import LogUploads

log = logging.getLogger(__name__)
Step = Callable[[], Awaitable[float | None]]
STATUS = "status"
BUILDS = "builds"
POLL_SECONDS = 25
REPORT_SECONDS = 10.0
OLD_NEWS_SECONDS = 1.0
COALESCE_SECONDS = 0.02
LOOK_SECONDS = 30.0
ROTATE_SECONDS = 0.5
LAST_WORDS_SECONDS = 1.0


class Agent:
    def __init__(
        self,
        link: Link,
        *,
        desired: Desired,
        instances: Instances,
        files: Files,
        store: Store,
        builds: Builds,
        uploads: LogUploads,
        ports: Ports,
        signals: Signals,
    ) -> None:
        self._link = link
        self._desired = desired
        self._instances = instances
        self._files = files
        self._store = store
        self._builds = builds
        self._has_heard = False
        self._uploads = uploads
        self._ports = ports
        self._signals = signals
        self._facts: dict[str, FactsReport] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._poll_retry: float | None = None
        self._report_retry: float | None = None

    async def run(self) -> None:
        """What runs here is looked after from the first moment, also while no server answers.

        Raises:
            Refusal: the server does not take us.
        """
        self._store.apply(self._desired.current.files)
        self._builds.apply(self._desired.current.engines)
        self._instances.take_over(self._desired.current)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep("assignment_look", self._look_again, LOOK_SECONDS, BUILDS))
            group.create_task(self._keep("log_rotation", self._rotate, ROTATE_SECONDS))
            await self._link.begin()
            group.create_task(self._keep("assignment_poll", self._poll, 0.0))
            group.create_task(self._keep("status_report", self._report, REPORT_SECONDS, STATUS))
            group.create_task(self._keep("log_requests", self._uploads.step, 0.0))

    async def _keep(self, name: str, step: Step, every_seconds: float, *topics: str) -> None:
        await keep_reconciling(
            name, step, signals=self._signals, topics=topics, every_seconds=every_seconds, clock=self._ports.clock
        )

    # --- the Assignment

    async def _poll(self) -> float | None:
        epoch, revision = self._desired.position()
        try:
            answer = await self._link.get(
                "/assignment", POLL_SECONDS + 10, epoch=epoch, after=revision, wait=POLL_SECONDS
            )
            is_new = answer.status_code == httpx.codes.NO_CONTENT or self._take(
                parsed(Assignment, answer, self._link.address.shown)
            )
        except Unreachable as away:
            self._poll_retry = retry_after(self._poll_retry)
            log.info("assignment_poll_failed", extra={"why": away.params["why"], "retry_seconds": self._poll_retry})
            return await self._waited(self._poll_retry)
        self._poll_retry = None
        return 0.0 if is_new else await self._waited(OLD_NEWS_SECONDS)

    async def _waited(self, seconds: float) -> float:
        await self._ports.clock.sleep(seconds)
        return 0.0

    def _take(self, assignment: Assignment) -> bool:
        numbers = {"epoch": assignment.epoch, "revision": assignment.revision}
        if not self._desired.accept(assignment):
            log.warning("assignment_not_newer", extra=numbers)
            return False
        log.info("assignment_taken", extra={**numbers, "instances": [each.id for each in assignment.instances]})
        self._store.apply(assignment.files)  # before the instances, which wait for them
        self._builds.apply(assignment.engines)
        self._instances.apply(assignment)
        self._has_heard = True
        self._signals.touch(BUILDS)
        for source in assignment.inspect:
            self._ask(source)
        self._signals.touch(STATUS)
        return True

    async def _look_again(self) -> None:
        """What no server wants any more is removed once one was heard: until then nobody knows what is wanted."""
        self._instances.apply(self._desired.current)
        if self._has_heard:
            await self._builds.clean(self._instances.builds_in_use())

    async def _rotate(self) -> None:
        await asyncio.to_thread(self._instances.rotate_logs)

    # --- facts

    def _ask(self, source: str) -> None:
        if source not in self._asking:
            self._asking[source] = asyncio.create_task(self._answer(source))

    async def _answer(self, source: str) -> None:
        try:
            self._facts[source] = await self._files.report(source)
        finally:
            del self._asking[source]
        self._signals.touch(STATUS)

    # --- the report

    async def _report(self) -> float | None:
        """What changed within 20 ms is told together."""
        await self._ports.clock.sleep(COALESCE_SECONDS)
        facts = dict(self._facts)
        try:
            await self._link.post("/status", self._status(facts))
        except Unreachable:
            self._report_retry = retry_after(self._report_retry)
            return self._report_retry
        for source, report in facts.items():
            if self._facts.get(source) is report:
                del self._facts[source]
        self._report_retry = None
        return None

    def _status(self, facts: dict[str, FactsReport]) -> StatusReport:
        return StatusReport(
            epoch=self._desired.current.epoch,
            revision=self._desired.current.revision,
            instances=self._instances.statuses(),
            facts=tuple(facts.values()),
            files=self._store.statuses(),
        )

    async def end(self) -> None:
        """End every engine, and tell the server if it still listens."""
        self._uploads.close()
        await self._store.close()
        await self._builds.close()
        await self._instances.end_all()
        try:
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self._link.post("/status", self._status({}))
        except (TimeoutError, Refusal):
            log.info("last_report_not_delivered")
