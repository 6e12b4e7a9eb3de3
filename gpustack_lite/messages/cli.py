"""Sentences of the cli."""

SENTENCES: dict[str, tuple[str, str]] = {}
