"""The server's token of a hub, as the threads of a worker that ask the hub come by it."""

from dataclasses import dataclass, field

import httpx

from gpustack_lite.hub.hubs import hubs_of
from gpustack_lite.settings import load
from tests.fakes.clock import ManualClock
from worker.hub_tokens import HELD_SECONDS, NONE_HELD_SECONDS, HubTokens, with_tokens

CANARY = "hf_canary"


@dataclass
class Server:
    """`token` is what it answers, None that it is away."""

    token: str | None = CANARY
    is_away: bool = False
    asked: list[str] = field(default_factory=list)

    def blocking_client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self._answer), base_url="http://server")

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.url.path} {request.headers['authorization']}")
        return httpx.Response(503) if self.is_away else httpx.Response(200, json={"token": self.token})


def tokens(server: Server, clock: ManualClock) -> HubTokens:
    return HubTokens(server, lambda: "glw_mine", clock)  # type: ignore[arg-type]


def test_the_server_is_asked_with_the_workers_credential_and_not_for_every_request() -> None:
    server, clock = Server(), ManualClock()
    known = tokens(server, clock)
    assert [known.of("huggingface") for _ in range(3)] == [CANARY] * 3
    assert server.asked == ["/api/agent/v1/hub-tokens/huggingface Bearer glw_mine"]
    clock.advance(HELD_SECONDS)
    server.token = None
    assert known.of("huggingface") is None


def test_one_that_is_set_meanwhile_is_found_soon() -> None:
    server, clock = Server(None), ManualClock()
    known = tokens(server, clock)
    assert known.of("huggingface") is None
    server.token = CANARY
    clock.advance(NONE_HELD_SECONDS)
    assert known.of("huggingface") == CANARY


def test_what_was_told_holds_while_the_server_is_away() -> None:
    server, clock = Server(), ManualClock()
    known = tokens(server, clock)
    known.of("huggingface")
    server.is_away = True
    clock.advance(HELD_SECONDS)
    assert known.of("huggingface") == CANARY
    assert known.of("modelscope") is None


def test_a_token_of_the_machine_comes_first_and_the_server_is_not_asked() -> None:
    server = Server()
    hubs = with_tokens(hubs_of(load(), {"HF_TOKEN": "own", "HF_HOME": "/none"}), tokens(server, ManualClock()))
    assert hubs.endpoint("huggingface").bearer() == "own"
    assert server.asked == []
    assert hubs.endpoint("modelscope").bearer() == CANARY
    assert CANARY not in repr(hubs)
