"""A model's way to READY as lines, one per event, and a progress bar below them where there is a terminal."""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol

from gpustack_lite.cli.output import plain
from gpustack_lite.cli.say import say, write
from gpustack_lite.messages import size

Document = Mapping[str, Any]


class Timeline(Protocol):
    """Held with `with`; `line` and `progress` may be called in any order."""

    def __enter__(self) -> "Timeline": ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def line(self, text: str) -> None: ...
    def progress(self, instances: Iterable[Document]) -> None: ...


def timeline(*, is_quiet: bool = False) -> Timeline:
    if is_quiet:
        return Silent()
    return Bars() if sys.stdout.isatty() else Plain()


class Silent:
    def __enter__(self) -> "Timeline":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def line(self, text: str) -> None:
        return None

    def progress(self, instances: Iterable[Document]) -> None:
        return None


class Plain(Silent):
    """For a pipe: lines only."""

    def line(self, text: str) -> None:
        write(text)


class Bars(Silent):
    """For a terminal: the bars stay at the bottom while lines scroll above them."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

        self._bars = Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True), TimeElapsedColumn()
        )
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> "Timeline":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def line(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def progress(self, instances: Iterable[Document]) -> None:
        wanted = {bar_title(each): each["progress"] for each in instances if each.get("progress")}
        for title in self._tasks.keys() - wanted.keys():
            self._bars.remove_task(self._tasks.pop(title))
        for title, progress in wanted.items():
            if title not in self._tasks:
                self._tasks[title] = self._bars.add_task(title, total=None)
            done, total = amounts(progress)
            self._bars.update(
                self._tasks[title], completed=done, total=total, description=f"{title}{pace_shown(progress)}"
            )


def bar_title(instance: Document) -> str:
    return f"{plain(instance['model'])}#{instance['id']} {say('phase_' + instance['progress']['phase'])}"


def pace_shown(progress: Document) -> str:
    """ " 11.8 MiB/s 0:40": what the worker measured, and nothing before it has."""
    rate, eta = progress.get("bytes_per_second"), progress.get("eta_seconds")
    speed = "" if rate is None else f" {size(rate)}/s"
    return speed if eta is None else f"{speed} {round(eta) // 60}:{round(eta) % 60:02}"


def amounts(progress: Document) -> tuple[float, float | None]:
    """Done and total; a fraction alone counts as percent, and nobody knows means a bar that only moves."""
    if progress.get("bytes_total"):
        return progress.get("bytes_done") or 0, progress["bytes_total"]
    if progress.get("fraction") is not None:
        return 100 * progress["fraction"], 100
    return progress.get("bytes_done") or 0, None


def event_line(event: Document) -> str:
    """ "19:31:04  smol#3  starting -> ready  0.8 s  the sentence"."""
    at = datetime.fromisoformat(event["at"]).astimezone().strftime("%H:%M:%S")
    who = plain(event.get("model") or event.get("worker"))
    if event.get("instance_id") is not None:
        who += f"#{event['instance_id']}"
    what = plain(event["kind"]).replace("_", " ")
    if event.get("to_state"):
        what = f"{event.get('from_state') or ''} -> {event['to_state']}".strip()
    seconds = (event.get("params") or {}).get("seconds")
    is_said_by_its_kind = str(event.get("code")).startswith("event_")
    said = "" if is_said_by_its_kind else event.get("message") or ""
    parts = [at, who, what, f"{seconds:.1f} s" if isinstance(seconds, int | float) else "", said]
    return "  ".join(plain(part) for part in parts if part)


def print_events(events: Iterable[Document]) -> None:
    for event in events:
        write(event_line(event))
