"""The server as a worker sees it: a real HTTP server on a Unix socket that hands out what a test wants."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response

from gpustack_lite.wire import (
    AssignedEngine,
    AssignedInstance,
    Assignment,
    Heartbeat,
    InstanceStatus,
    Join,
    Joined,
    LogRequest,
    StatusReport,
)

TOKEN = "join-token"
PREFIX = "/api/agent/v1"


@dataclass
class AgentServer:
    """Tests set `assignment` through `assign` and read what was reported. Times are seconds."""

    credential: str = "credential-1"
    assignment: Assignment = field(default_factory=lambda: Assignment(epoch=1, revision=0))
    joins: list[Join] = field(default_factory=list)
    heartbeats: list[Heartbeat] = field(default_factory=list)
    reports: list[StatusReport] = field(default_factory=list)
    log_requests: list[LogRequest] = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    finished_uploads: set[str] = field(default_factory=set)
    hang_up: set[str] = field(default_factory=set)

    def assign(
        self,
        *instances: AssignedInstance,
        inspect: tuple[str, ...] = (),
        engines: tuple[AssignedEngine, ...] = (),
    ) -> None:
        self.assignment = Assignment(
            epoch=self.assignment.epoch,
            revision=self.assignment.revision + 1,
            instances=instances,
            inspect=inspect,
            engines=engines,
        )

    # --- what tests wait for

    def status(self, instance_id: int) -> InstanceStatus | None:
        latest = self.reports[-1] if self.reports else None
        return next((each for each in latest.instances if each.id == instance_id), None) if latest else None

    def states(self, instance_id: int) -> list[str]:
        """The states in the order they were reported, each once in a row."""
        found: list[str] = []
        for report in list(self.reports):
            for each in report.instances:
                if each.id == instance_id and (not found or found[-1] != str(each.state)):
                    found.append(str(each.state))
        return found

    def wait_for(self, what: Callable[[], Any], seconds: float = 30.0) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := what():
                return found
            time.sleep(0.01)
        raise AssertionError(f"not within {seconds} s; last report: {self.reports[-1:]}")

    def wait_until(self, instance_id: int, state: str, attempt: int | None = None) -> InstanceStatus:
        def is_so() -> InstanceStatus | None:
            status = self.status(instance_id)
            if status is None or str(status.state) != state or attempt not in {None, status.attempt}:
                return None
            return status

        found: InstanceStatus = self.wait_for(is_so)
        return found

    def wait_gone(self, instance_id: int) -> None:
        def is_gone() -> bool:
            latest = self.reports[-1] if self.reports else None
            return (
                latest is not None
                and latest.revision == self.assignment.revision
                and all(each.id != instance_id for each in latest.instances)
            )

        self.wait_for(is_gone)

    # --- what a worker asks

    def app(self) -> FastAPI:
        app = FastAPI()
        app.post(f"{PREFIX}/join")(self._join)
        app.post(f"{PREFIX}/heartbeat")(self._heartbeat)
        app.get(f"{PREFIX}/assignment")(self._assignment)
        app.post(f"{PREFIX}/status")(self._status)
        app.get(f"{PREFIX}/logs")(self._logs)
        app.post(f"{PREFIX}/logs/{{ticket}}")(self._upload)
        return app

    def _knows(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {self.credential}"

    async def _join(self, body: Join) -> Response:
        self.joins.append(body)
        if body.token != TOKEN:
            error = {"error": {"message": "no", "code": "join_token_refused", "params": {}}}
            return Response(__import__("json").dumps(error), 401, media_type="application/json")
        joined = Joined(worker_id=1, name=body.name, credential=self.credential)
        return Response(joined.model_dump_json(), media_type="application/json")

    async def _heartbeat(self, body: Heartbeat, request: Request) -> Response:
        if not self._knows(request):
            return Response(status_code=401)
        self.heartbeats.append(body)
        return Response(status_code=204)

    async def _assignment(self, request: Request, epoch: int, after: int, wait: float) -> Response:
        if not self._knows(request):
            return Response(status_code=401)
        end = time.monotonic() + min(wait, 2)
        while time.monotonic() < end:
            if (self.assignment.epoch, self.assignment.revision) != (epoch, after):
                return Response(self.assignment.model_dump_json(), media_type="application/json")
            await asyncio.sleep(0.005)
        return Response(status_code=204)

    async def _status(self, body: StatusReport, request: Request) -> Response:
        if not self._knows(request):
            return Response(status_code=401)
        self.reports.append(body)
        return Response(status_code=204)

    async def _logs(self, wait: float) -> Response:
        end = time.monotonic() + min(wait, 2)
        while time.monotonic() < end:
            if self.log_requests:
                return Response(self.log_requests.pop(0).model_dump_json(), media_type="application/json")
            await asyncio.sleep(0.01)
        return Response(status_code=204)

    async def _upload(self, ticket: str, request: Request) -> Response:
        self.uploads[ticket] = b""

        async def read() -> None:
            async for chunk in request.stream():
                self.uploads[ticket] += chunk

        reading = asyncio.ensure_future(read())
        while not reading.done() and ticket not in self.hang_up:
            await asyncio.wait({reading}, timeout=0.02)
        reading.cancel()
        self.finished_uploads.add(ticket)
        return Response(status_code=204, headers={"connection": "close"})


@contextlib.contextmanager
def serving(server: AgentServer, socket: Path) -> Iterator[AgentServer]:
    """`server` on `socket`, in a thread of its own."""
    socket.unlink(missing_ok=True)
    config = uvicorn.Config(server.app(), uds=str(socket), log_level="error", timeout_graceful_shutdown=1, ws="none")
    http = uvicorn.Server(config)
    thread = threading.Thread(target=http.run, daemon=True)
    thread.start()
    while not http.started:
        time.sleep(0.01)
    try:
        yield server
    finally:
        http.should_exit = True
        thread.join(10)
