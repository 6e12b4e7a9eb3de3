"""What engines say when they refuse, brought into OpenAI's shape; their status and their words are kept."""

import re
from typing import Any

import msgspec

from gpustack_lite.domain import Sentence
from gpustack_lite.gateway.answers import Document, error_document, of_sentence
from gpustack_lite.messages import Language

MOST_TEXT_BYTES = 64 * 1024
_TOO_LONG = re.compile(
    r"maximum context length|exceeds? the (?:available )?context|context (?:size|window|length) (?:of|is|exceeded)"
    r"|longer than the maximum model length|max_model_len|exceed_context_size_error",
    re.IGNORECASE,
)
_MODEL_UNKNOWN = re.compile(r"\bmodel\b.*\b(?:does not exist|not found)\b", re.IGNORECASE | re.DOTALL)
_any = msgspec.json.Decoder()


class Said(msgspec.Struct, frozen=True):
    message: str
    kind: str = ""
    param: str | None = None
    code: str | None = None


def normalise(status: int, body: bytes, *, model: str, path: str, language: Language) -> tuple[int, Document]:
    """The status and the document for the client."""
    if status < 400:
        return 502, of_sentence(502, Sentence("engine_redirects", {"model": model, "engine_status": status}), language)
    said = read(body)
    if status in {401, 403}:
        return 502, of_sentence(502, Sentence("engine_refused_key", {"model": model}), language)
    if status in {404, 405, 501}:
        return _not_served(said, model, path, language)
    code = _code(said, status)
    message = said.message or f"HTTP {status}"
    return status, error_document(status, code, message, said.param, {"engine_status": status})


def _not_served(said: Said, model: str, path: str, language: Language) -> tuple[int, Document]:
    if _MODEL_UNKNOWN.search(said.message):
        return 502, of_sentence(502, Sentence("engine_unknown_model", {"model": model}), language)
    params = {"model": model, "path": path, "why": said.message or "it does not know the path."}
    return 404, of_sentence(404, Sentence("path_not_served", params), language)


def _code(said: Said, status: int) -> str:
    if status < 500 and _TOO_LONG.search(f"{said.message} {said.kind}"):
        return "context_length_exceeded"
    return said.code or "engine_error"


def read(body: bytes) -> Said:
    """From {"error": {...} or text}, vLLM's flat {"message": ...}, FastAPI's {"detail": ...}, or plain text."""
    try:
        document = _any.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Said(message=body[:MOST_TEXT_BYTES].decode("utf-8", "replace").strip())
    if isinstance(document, dict):
        inner = document.get("error", document)
        return _of_object(inner) if isinstance(inner, dict) else Said(message=_words(inner))
    return Said(message=_words(document))


def _of_object(inner: dict[str, Any]) -> Said:
    message = inner.get("message", inner.get("detail", ""))
    param, code = inner.get("param"), inner.get("code")
    return Said(
        message=_words(message),
        kind=str(inner.get("type", "")),
        param=param if isinstance(param, str) else None,
        code=code if isinstance(code, str) and not code.isdigit() else None,
    )


def _words(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")
