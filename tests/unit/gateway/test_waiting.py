"""What a client sees while it waits for a model that wakes."""

from typing import Any

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import Field
from gpustack_lite.gateway.call import Call
from gpustack_lite.gateway.waiting import Begun, frame
from gpustack_lite.wire import ModelRoute


class Heard(Call):
    """A call whose client hears everything at once."""

    def __init__(self, path: str = "/v1/chat/completions") -> None:
        self.headers = {}
        self.path = path
        self.status = 200
        self.said: list[bytes] = []
        self.ending: str | None = None

    async def start(self, status: int, fields: list[Field], *, length: int | None = None) -> None:
        self.said.append(b"a second head")

    async def write(self, data: bytes) -> None:
        self.said.append(data)

    async def finish(self, data: bytes = b"") -> None:
        self.said.append(data)
        self.ending = "whole"

    def cut(self) -> None:
        self.ending = "cut"


@pytest.mark.parametrize(
    ("loading", "said"),
    [
        pytest.param(None, b": waking m, sleeping\n\n", id="nothing is known yet"),
        pytest.param({"state": "starting"}, b": waking m, starting\n\n", id="a state"),
        pytest.param({"phase": "load", "progress": 0.4}, b": waking m, load 40 %\n\n", id="a progress"),
        pytest.param(
            {"phase": "engine", "progress": 0.0}, b": waking m, engine 0 %\n\n", id="none of it is a progress too"
        ),
    ],
)
def test_a_comment_says_how_far_it_is(loading: dict[str, Any] | None, said: bytes) -> None:
    assert frame(ModelRoute(id=1, name="m", created=1, state="sleeping", loading=loading)) == said


async def test_a_stream_goes_on_behind_the_head_that_is_out() -> None:
    heard = Heard()
    begun = Begun(heard)
    await begun.start(200, [])
    await begun.write(b"data: 1\n\n")
    await begun.finish(b"data: [DONE]\n\n")
    assert (heard.said, heard.ending) == ([b"data: 1\n\n", b"data: [DONE]\n\n"], "whole")


async def test_an_answer_that_is_no_stream_becomes_one_event() -> None:
    heard = Heard()
    await Begun(heard).answer(200, b'{\n"a": 1}', [])
    assert (heard.said, heard.ending) == ([b'data: {\ndata: "a": 1}\n\n'], "whole")


@pytest.mark.parametrize(
    ("path", "beginning"),
    [("/v1/chat/completions", b'data: {"error":'), ("/v1/messages", b'event: error\ndata: {"error":')],
)
async def test_a_refusal_is_an_error_event_of_the_surface_and_no_whole_end(path: str, beginning: bytes) -> None:
    heard = Heard(path)
    await Begun(heard).refuse(Refusal("gateway_full", status=503))
    (event,) = heard.said
    assert event.startswith(beginning)
    assert event.endswith(b"\n\n")
    assert heard.ending == "cut"
