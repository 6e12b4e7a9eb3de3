"""The list of models as Anthropic's clients read it: their fields beside ours in one document."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from gpustack_lite.gateway.answers import Document

VERSION = b"anthropic-version"
"""The header that every client of Anthropic sends, and no other."""


def model(document: Mapping[str, object]) -> Document:
    """`max_input_tokens` is the context length, which the answer shares; null where nobody knows."""
    created = document["created"]
    return {
        **document,
        "type": "model",
        "display_name": document["id"],
        "created_at": datetime.fromtimestamp(created if isinstance(created, int) else 0, UTC).isoformat(),
        "lifecycle": "active",
        "max_input_tokens": document.get("context_length"),
        "max_tokens": None,
    }


def page(documents: Sequence[Mapping[str, object]]) -> Document:
    """All of them on one page, whatever limit was asked for."""
    names = [document["id"] for document in documents]
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return {"object": "list", "data": [model(each) for each in documents], "has_more": False, **ends}
