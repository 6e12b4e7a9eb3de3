"""Sentences of the server."""

SENTENCES: dict[str, tuple[str, str]] = {}
