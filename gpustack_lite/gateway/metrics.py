"""/metrics: the few numbers of this process, in Prometheus' text format, for whoever may read."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gpustack_lite.gateway import credentials
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.gate import READING, Gate
from gpustack_lite.gateway.ledger import CLIENT_GONE
from gpustack_lite.ports import Disk

Gauge = Callable[[], float]
_DATA = "data"


class Metrics:
    def __init__(self, gate: Gate, gauges: Mapping[str, Gauge], disk: Disk, cli_token_file: Path) -> None:
        self._gate = gate
        self._gauges = gauges
        self._disk = disk
        self._cli_token_file = cli_token_file
        self._answers: Counter[tuple[str, int]] = Counter()
        self.sections: list[Callable[[], Iterable[str]]] = []
        """Each gives lines of its own."""

    def count(self, call: Call) -> None:
        self._answers[_plane(call.path), call.status or CLIENT_GONE] += 1

    def count_data(self, status: int) -> None:
        self._answers[_DATA, status] += 1

    async def show(self, call: Call) -> None:
        """For keys that may read, and for this machine's own command line, also while there are no routes."""
        if not self._is_local_cli(call):
            self._gate.admit(call, READING)
        await call.answer(200, self.text().encode(), [(b"content-type", b"text/plain; version=0.0.4")])

    def _is_local_cli(self, call: Call) -> bool:
        given = credentials.presented(call.headers)
        token = (self._disk.read(self._cli_token_file) or b"").strip()
        return bool(token) and given is not None and credentials.same(given.secret, token)

    def text(self) -> str:
        lines = ["# TYPE gpustack_lite_requests_total counter"]
        for (plane, status), count in sorted(self._answers.items()):
            lines.append(f'gpustack_lite_requests_total{{plane="{plane}",status="{status}"}} {count}')
        for name, gauge in self._gauges.items():
            lines += [f"# TYPE gpustack_lite_{name} gauge", f"gpustack_lite_{name} {gauge():g}"]
        for section in self.sections:
            lines += section()
        return "\n".join(lines) + "\n"


def _plane(path: str) -> str:
    return _DATA if path.startswith(("/v1/", "/v2/")) else "control"
