"""Keeps the children of one data directory alive and does what signals ask: stop, or run the installed code anew."""

import logging
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from gpustack_lite.cli import handover, record, refusals
from gpustack_lite.cli.children import Children, Ended
from gpustack_lite.cli.ending import end_all
from gpustack_lite.cli.family import Family
from gpustack_lite.cli.greeting import greet, has_joined
from gpustack_lite.cli.readiness import answers
from gpustack_lite.cli.rolling import Rolling
from gpustack_lite.cli.say import complain, explain, tell
from gpustack_lite.cli.wakeup import Wakeup
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Identity

log = logging.getLogger(__name__)
IDLE_SECONDS = 5.0
UNTIL_READY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Stage:
    """What a supervisor works with: its family, its descriptors and how it would be started again."""

    family: Family
    lock: int
    url: str
    public: socket.socket | None = None
    server: socket.socket | None = None
    tls: socket.socket | None = None
    again: Sequence[str] = ()

    @property
    def descriptors(self) -> handover.Handover:
        sockets = [None if each is None else each.fileno() for each in (self.public, self.server, self.tls)]
        return handover.Handover(self.lock, *sockets)


class Supervisor:
    def __init__(self, stage: Stage, before: record.Record | None = None) -> None:
        self._stage = stage
        self._family = stage.family
        self._ports = stage.family.ports
        self._wakeup = Wakeup(self._ports.clock)
        self._children = Children(stage.family)
        self._children.adopt(before)
        self._is_ready = False
        self._owes_record = False
        self._may_refuse = not self._children.living
        self._refusal: Refusal | None = None
        self._had_terminal = _has_terminal()

    def run(self) -> None:
        """Until somebody asks to stop; everything has ended then.

        Raises:
            Refusal: what a child refused to run with.
        """
        with self._wakeup:
            self._begin()
            while not self._wakeup.stops_asked and self._refusal is None:
                self._turn()
            self._end()
        if self._refusal is not None:
            raise self._refusal

    def _begin(self) -> None:
        if self._children.living:
            rolling = Rolling(self._children, self._wakeup, public=self._stage.public, server=self._stage.server)
            rolling.run(keep_record=self._keep_record)
        else:
            self._start_due()

    def _turn(self) -> None:
        self._wakeup.wait(self._patience())
        for ended in self._children.notice_ends():
            self._tell_end(ended)
        if self._wakeup.is_replacement_asked:
            self._replace_code()
        self._start_due()
        if not self._is_ready:
            self._look_whether_ready()
        for role in self._family.roles:
            self._family.rotate_log(role)

    def _patience(self) -> float:
        seconds = IDLE_SECONDS if self._is_ready else UNTIL_READY_SECONDS
        next_start = self._children.seconds_to_next_start()
        return seconds if next_start is None else min(seconds, next_start)

    def _start_due(self) -> None:
        if self._children.start_due() or self._owes_record:
            self._keep_record()

    def _tell_end(self, ended: Ended) -> None:
        refusal = None
        if ended.code == refusals.EXIT_CODE:
            refusal = refusals.collect(self._ports.disk, self._family.data_dir.run, ended.role)
        if refusal is None:
            complain("child_ended", role=ended.role, code=ended.code, path=str(self._family.log_path(ended.role)))
        elif self._may_refuse:
            self._refusal = refusal
        else:
            explain(refusal)

    def _look_whether_ready(self) -> None:
        """Once the platform served, no child's refusal may end what still serves; a worker alone has no such duty."""
        if self._stage.public is None:
            self._is_ready = has_joined(self._family.data_dir)
        else:
            self._is_ready = answers(self._stage.url)
            self._may_refuse &= not self._is_ready
        if self._is_ready:
            log.info("ready", extra={"url": self._stage.url})
            greet(self._stage.url, self._family.data_dir, is_worker_alone=self._stage.public is None)

    def _replace_code(self) -> None:
        """SIGHUP. Only a failure comes back from it, and then everything runs on as it did."""
        self._wakeup.is_replacement_asked = False
        if self._had_terminal and not _has_terminal():
            self._wakeup.stops_asked += 1  # the terminal was closed: nobody installed anything
            return
        try:
            handover.check_code(self._family)
            self._write_record()
            log.info("executing", extra={"argv": list(self._stage.again)})
            handover.execute(self._stage.again, self._stage.descriptors)
        except Refusal as refusal:
            explain(refusal)
            log.error("not_replaced", extra={"code": refusal.code, "params": dict(refusal.params)})
        except OSError as error:
            log.exception("not_replaced")
            complain("new_code_broken", why=str(error))

    def _keep_record(self) -> None:
        """A full disk must not end who looks after everybody: the record is owed until it can be written."""
        try:
            self._write_record()
        except OSError as error:
            if not self._owes_record:
                log.error("record_not_kept", extra={"why": error.strerror})
            self._owes_record = True
        else:
            self._owes_record = False

    def _write_record(self) -> None:
        host, port = ("", 0) if self._stage.public is None else self._stage.public.getsockname()[:2]
        record.write(
            self._ports.disk,
            self._family.data_dir.record,
            record.Record(
                supervisor=_own_identity(self._family),
                url=self._stage.url,
                host=host,
                port=port,
                children=self._children.living,
                leaving=tuple(self._children.leaving),
            ),
        )

    def _end(self) -> None:
        if self._refusal is None:
            tell("stopping")
        log.info("stopping")
        end_all(self._children, self._wakeup)
        self._ports.disk.remove(self._family.data_dir.record)
        log.info("stopped")


def _own_identity(family: Family) -> Identity:
    identity = family.ports.processes.identify(os.getpid())
    return identity or Identity(os.getpid(), 0, "")


def _has_terminal() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
