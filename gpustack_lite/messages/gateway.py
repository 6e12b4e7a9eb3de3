"""Sentences of the gateway."""

SENTENCES: dict[str, tuple[str, str]] = {}
