"""Sentences of the lifecycle."""

SENTENCES: dict[str, tuple[str, str]] = {}
