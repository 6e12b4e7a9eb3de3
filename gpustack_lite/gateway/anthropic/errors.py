"""Errors as Anthropic's clients expect them: its words at the top, and everything that we say beside them."""

from collections.abc import Mapping
from typing import Any

from gpustack_lite.gateway.answers import Document

OVERLOADED = 529
_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    OVERLOADED: "overloaded_error",
}


def status_of(status: int) -> int:
    """Anthropic's own status for a service that has no room at the moment; its clients try again."""
    return OVERLOADED if status == 503 else status


def error_type(status: int) -> str:
    return _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


def shaped(status: int, document: Mapping[str, Any]) -> tuple[int, Document]:
    """The same error for a client of Anthropic: `code`, `param` and `params` stay where our own readers find them."""
    now = status_of(status)
    return now, {**document, "type": "error", "error": {**document["error"], "type": error_type(now)}}
