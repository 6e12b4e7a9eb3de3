"""Sentences of the backend."""

SENTENCES: dict[str, tuple[str, str]] = {}
