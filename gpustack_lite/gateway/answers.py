"""Errors as OpenAI's clients expect them, in the reader's language, with the code and params beside the message."""

from collections.abc import Mapping, Sequence

import msgspec

from gpustack_lite.domain import Params, Sentence
from gpustack_lite.errors import Param, Refusal
from gpustack_lite.messages import Language, text

Document = dict[str, object]
Field = tuple[bytes, bytes]
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
SOON_SECONDS = 2
JSON = (b"content-type", b"application/json")
NOSNIFF = (b"x-content-type-options", b"nosniff")


def error_type(status: int, code: str = "") -> str:
    """OpenAI tells an exhausted budget by its type too: its clients do not try again then."""
    if code == "insufficient_quota":
        return code
    return _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def error_document(
    status: int, code: str, message: str, param: str | None = None, params: Params | None = None
) -> Document:
    said = {
        "message": message,
        "type": error_type(status, code),
        "param": param,
        "code": code,
        "params": dict(params or {}),
    }
    return {"error": said}


def of_refusal(refusal: Refusal, language: Language) -> Document:
    message = text(refusal.sentence, language)
    return error_document(refusal.status, refusal.code, message, refusal.param, refusal.params)


def of_sentence(status: int, sentence: Sentence, language: Language) -> Document:
    return error_document(status, sentence.code, text(sentence, language), None, sentence.params)


def encode(document: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(document)


class Explained(Refusal):
    """A refusal whose sentence holds another one, or whose document holds more than the error."""

    def document(self, language: Language) -> Document:
        raise NotImplementedError


class NotServed(Explained):
    """404: no engine behind this name serves the path; what they do serve is named."""

    def __init__(self, model: str, path: str, served: Sequence[str]) -> None:
        super().__init__("path_not_served", status=404, model=model, path=path, served=", ".join(served))

    def document(self, language: Language) -> Document:
        why = text(Sentence("paths_served", self.params), language)
        sentence = Sentence(self.code, {**self.params, "why": why})
        return error_document(self.status, self.code, text(sentence, language), None, sentence.params)


class Later(Refusal):
    """A refusal that says when to come back, in whole seconds, and may carry more header fields."""

    def __init__(
        self, code: str, *, status: int, retry_seconds: int, param: str | None = None, **params: Param
    ) -> None:
        super().__init__(code, status=status, param=param, **params)
        self.fields: tuple[Field, ...] = ((b"retry-after", b"%d" % retry_seconds),)


class NotReady(Explained, Later):
    """503 with the reason in words, and with `loading` beside the error where the server knows how far it is."""

    def __init__(
        self,
        model: str,
        state: str,
        said: Sentence | None,
        loading: Mapping[str, object] | None,
        retry_seconds: int = SOON_SECONDS,
    ) -> None:
        super().__init__(
            "model_not_ready", status=503, retry_seconds=retry_seconds, param="model", model=model, state=state
        )
        self._said = said or Sentence("model_not_ready_wait")
        self.loading = loading

    def document(self, language: Language) -> Document:
        reason = text(self._said, language)
        sentence = Sentence(self.code, {**self.params, "reason": reason})
        answer = error_document(self.status, self.code, text(sentence, language), self.param, sentence.params)
        return {**answer, "loading": dict(self.loading)} if self.loading else answer
