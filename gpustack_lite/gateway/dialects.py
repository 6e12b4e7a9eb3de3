"""In which form a request goes to an engine: as it came, or as the chat completion that asks for the same."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from gpustack_lite.domain import Spelling
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway import anthropic, splicing
from gpustack_lite.gateway.answers import Document
from gpustack_lite.gateway.anthropic import asking, counting, fields
from gpustack_lite.gateway.anthropic.fields import Json
from gpustack_lite.gateway.anthropic.rewriters import Translated
from gpustack_lite.gateway.bodies import Piece
from gpustack_lite.gateway.rewriting import Rewriter
from gpustack_lite.wire import Endpoint, ModelRoute

LACKING = frozenset({404, 405, 501})
"""What an engine answers to a path that it does not know."""
_MOST_REMEMBERED = 10_000


class Form(NamedTuple):
    """What is sent to one engine, and who brings its answer back. `may_change` where its answer may prove it wrong."""

    path: str
    pieces: list[Piece]
    hides_usage: bool
    rewriter: Rewriter | None
    may_change: bool = False


class Dialects:
    """Which replicas speak Anthropic's Messages: by their backend's word, and by what they answered once:
    an engine may be older than its backend's list of paths."""

    def __init__(self) -> None:
        self._lacks: set[tuple[int, str]] = set()

    def speaks(self, route: ModelRoute, endpoint: Endpoint, path: str) -> bool:
        """Nearly always: every other path has one form only."""
        if path not in anthropic.PATHS:
            return True
        is_said = not route.paths or path in route.paths
        return is_said and (endpoint.instance_id, path) not in self._lacks

    def note_lack(self, endpoint: Endpoint, path: str) -> None:
        if len(self._lacks) >= _MOST_REMEMBERED:
            self._lacks.clear()
        self._lacks.add((endpoint.instance_id, path))


def conversation(pieces: list[Piece], known_as: str) -> Json:
    """What is to be counted, under the name that the engine knows the model by.

    Raises:
        Refusal: 400 with the field that has no counterpart.
    """
    return counting.conversation(fields.document(b"".join(pieces))) | {"model": known_as}


def translated(given: list[Piece], spelling: Spelling | None, say: Callable[[Refusal], Document]) -> Form:
    """`spelling` is how the engine reads the reasoning of earlier turns.

    Raises:
        Refusal: 400 with the field that a chat completion has no counterpart for.
    """
    asked = fields.document(b"".join(given))
    rewriter = Translated(asked.get("model", ""), asking.stop_sequences(asked), say)
    body = msgspec.json.encode(asking.chat_request(asked))
    pieces: list[Piece] = [body if spelling is None else splicing.as_read(body, spelling)]
    return Form(anthropic.CHAT, pieces, hides_usage=False, rewriter=rewriter)
