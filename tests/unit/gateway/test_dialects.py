import json

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import of_refusal
from gpustack_lite.gateway.bodies import Piece
from gpustack_lite.gateway.dialects import Dialects, conversation, translated
from gpustack_lite.wire import Endpoint, ModelRoute

ENDPOINT = Endpoint(instance_id=7, address="127.0.0.1:1", engine_key="k", served_name="served")
OTHER = ENDPOINT.model_copy(update={"instance_id": 8})
MESSAGES, COUNT, CHAT = "/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions"


def route(*paths: str) -> ModelRoute:
    return ModelRoute(id=1, name="m", created=1, state="ready", paths=paths)


def body(**more: object) -> list[Piece]:
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **more}
    text = json.dumps(asked).encode()
    return [text[:9], memoryview(text)[9:]]


def say(refusal: Refusal) -> dict[str, object]:
    return of_refusal(refusal, "en")


@pytest.mark.parametrize(
    ("paths", "path", "speaks"),
    [
        ((), MESSAGES, True),
        ((CHAT,), MESSAGES, False),
        ((CHAT, MESSAGES), MESSAGES, True),
        ((CHAT, MESSAGES), COUNT, False),
        ((CHAT,), CHAT, True),
        ((), CHAT, True),
    ],
)
def test_the_backend_says_what_an_engine_speaks(paths: tuple[str, ...], path: str, speaks: bool) -> None:
    assert Dialects().speaks(route(*paths), ENDPOINT, path) is speaks


def test_an_engine_that_did_not_know_the_path_is_not_asked_again() -> None:
    dialects = Dialects()
    dialects.note_lack(ENDPOINT, MESSAGES)
    for lists in (route(), route(MESSAGES)):
        assert not dialects.speaks(lists, ENDPOINT, MESSAGES)
        assert dialects.speaks(lists, OTHER, MESSAGES)
    assert dialects.speaks(route(), ENDPOINT, COUNT)


def test_a_message_goes_out_as_a_chat() -> None:
    form = translated(body(stream=True), None, say)
    assert (form.path, form.hides_usage) == (CHAT, False)
    assert json.loads(b"".join(form.pieces))["messages"] == [{"role": "user", "content": "hi"}]
    assert form.rewriter is not None
    assert form.rewriter.needs_whole


def test_earlier_thoughts_are_spelt_as_the_engine_reads_them() -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}
    sent = b"".join(translated(body(messages=[thought]), "reasoning", say).pieces)
    assert json.loads(sent)["messages"] == [{"role": "assistant", "content": "", "reasoning": "hm"}]


def test_a_conversation_is_counted_under_the_engines_own_name_of_the_model() -> None:
    assert conversation(body(system="s"), ENDPOINT.served_name)["model"] == "served"
