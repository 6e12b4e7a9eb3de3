"""Sentences of the scheduler."""

SENTENCES: dict[str, tuple[str, str]] = {}
