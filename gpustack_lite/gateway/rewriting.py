"""The lanes in which an answer is changed on its way: most answers pass without one."""

from typing import Protocol

from gpustack_lite.gateway.answers import Document


class Rewriter(Protocol):
    """Changes one answer. It is asked only for what the engine said, and never invents an end."""

    @property
    def needs_whole(self) -> bool:
        """Whether an event or an answer in pieces is of no use to it: nothing may pass that it has not seen."""

    @property
    def is_broken(self) -> bool:
        """Whether it had to say that the engine's answer is none, though its stream ended in order."""

    def whole(self, body: bytes) -> bytes:
        """An answer that is no stream; of one that is too long to be held, its first MiB."""

    def event(self, event: bytes) -> bytes:
        """One event of a stream, its blank line included; the answer may be none or several events."""

    def end(self) -> bytes:
        """What is still owed when the engine's stream has ended in order."""

    def failed(self, error: Document) -> bytes:
        """The last event of a stream that broke."""

    def refused(self, status: int, error: Document) -> Document:
        """An error document in the shape of the surface that was asked."""
