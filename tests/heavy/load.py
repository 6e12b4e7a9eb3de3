"""Clients that never rest: streams and plain requests in threads, each of which notes how every request ended."""

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import httpx

from tests.harness import Platform, until

KEY = "load"
PATIENCE_SECONDS = 300
"""A machine that does much else makes few tokens a second; what hangs is found all the same."""
QUESTION = [{"role": "user", "content": "Say hello to Ada."}]


@dataclass(slots=True)
class Outcome:
    """One request. `request_id` is what the gateway called it; `error` is None when the answer was whole."""

    is_stream: bool
    began: float
    request_id: str = ""
    local_port: int = 0
    chunks: int = 0
    ended: float | None = None
    error: str | None = None


class Load:
    """`with Load(platform, streams=8, plain=2) as load:`; afterwards `load.outcomes` holds every request."""

    def __init__(
        self, platform: Platform, *, streams: int, plain: int = 0, tokens: int = 60, key: str = "load"
    ) -> None:
        self.key_name = key
        self.outcomes: list[Outcome] = []
        self._url = f"{platform.url}/v1/chat/completions"
        self._headers = {"Authorization": f"Bearer {platform.key(name=KEY)}"}
        self._tokens = tokens
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._keep, args=(self._stream, 0)) for _ in range(streams)]
        self._threads += [threading.Thread(target=self._keep, args=(self._plain, 1)) for _ in range(plain)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(130)

    # --- one client

    def _keep(self, ask: Callable[[httpx.Client, Outcome], None], kept_connections: int) -> None:
        limits = httpx.Limits(max_keepalive_connections=kept_connections)
        with httpx.Client(headers=self._headers, timeout=120, trust_env=False, limits=limits) as client:
            while not self._ends.is_set():
                outcome = Outcome(is_stream=ask == self._stream, began=time.monotonic())
                self.outcomes.append(outcome)
                try:
                    ask(client, outcome)
                except (httpx.HTTPError, AssertionError, ValueError) as error:
                    outcome.error = f"{type(error).__name__}: {error} after {outcome.chunks} chunks"
                    time.sleep(0.02)
                outcome.ended = time.monotonic()

    def _body(self, tokens: int, **more: object) -> dict[str, object]:
        return {"model": "smol", "messages": QUESTION, "max_tokens": tokens, "ignore_eos": True, **more}

    def _stream(self, client: httpx.Client, outcome: Outcome) -> None:
        body = self._body(self._tokens, stream=True, stream_options={"include_usage": True})
        finish = tokens = last = None
        with client.stream("POST", self._url, json=body) as answer:
            self._note(answer, outcome)
            outcome.local_port = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
            for line in answer.iter_lines():
                if not line.startswith("data: "):
                    continue
                last = line
                if line == "data: [DONE]":
                    continue
                document = json.loads(line[6:])
                assert "error" not in document, document
                outcome.chunks += 1
                finish = next((each["finish_reason"] for each in document["choices"]), None) or finish
                tokens = (document.get("usage") or {}).get("completion_tokens", tokens)
        assert (last, finish, tokens) == ("data: [DONE]", "length", self._tokens)

    def _plain(self, client: httpx.Client, outcome: Outcome) -> None:
        answer = client.post(self._url, json=self._body(4))
        self._note(answer, outcome)
        assert answer.json()["usage"]["completion_tokens"] == 4
        time.sleep(0.05)

    def _note(self, answer: httpx.Response, outcome: Outcome) -> None:
        outcome.request_id = answer.headers.get("x-request-id", "")
        if answer.status_code != 200:
            answer.read()
        assert answer.status_code == 200, f"{answer.status_code} {answer.text}"

    # --- what is seen

    def in_flight(self) -> list[Outcome]:
        """Streams of which chunks came already and more are to come."""
        return [each for each in tuple(self.outcomes[-200:]) if each.is_stream and each.chunks > 2 and not each.ended]

    def wait_in_flight(self, least: int = 1) -> list[Outcome]:
        return until(lambda: now if len(now := self.in_flight()) >= least else [], PATIENCE_SECONDS)

    def wait_ended(self, these: list[Outcome]) -> None:
        until(lambda: all(each.ended for each in these), PATIENCE_SECONDS)

    def wait_new_answers(self, count: int = 2) -> None:
        """So many requests began from now on and were answered whole."""
        now = time.monotonic()

        def are_answered() -> bool:
            later = [each for each in tuple(self.outcomes) if each.began > now and each.ended and not each.error]
            return len(later) >= count

        until(are_answered, PATIENCE_SECONDS)

    def failures(self) -> list[Outcome]:
        return [each for each in self.outcomes if each.error or each.ended is None]

    def why(self) -> Counter[str]:
        return Counter(f"{'stream' if each.is_stream else 'plain'}: {each.error}" for each in self.failures())

    def counts(self) -> dict[str, int]:
        streams = sum(each.is_stream for each in self.outcomes)
        return {"streams": streams, "plain": len(self.outcomes) - streams, "failed": len(self.failures())}


def usage_rows(platform: Platform) -> list[str]:
    """The request id of each row that the server holds for the load."""
    path = Path(platform.data_dir) / "gpustack-lite.db"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT u.request_id FROM usage u JOIN api_keys k ON k.id = u.key_id WHERE k.name = ?", [KEY])
        found = [str(row[0]) for row in rows]
    db.close()
    return found
