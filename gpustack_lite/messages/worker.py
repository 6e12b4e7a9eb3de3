"""Sentences of the worker."""

SENTENCES: dict[str, tuple[str, str]] = {}
