"""What can be refused: one exception that carries a code and its numbers, never a ready-made text."""

from gpustack_lite.domain import Params, Sentence

Param = str | int | float | bool | None


class Refusal(Exception):
    """Something that the caller can act on. `messages.text` turns it into a sentence; `status` is its HTTP status."""

    def __init__(self, code: str, *, status: int = 400, param: str | None = None, **params: Param) -> None:
        super().__init__(code)
        self.code = code
        self.status = status
        self.param = param
        self.params: Params = params

    @property
    def sentence(self) -> Sentence:
        return Sentence(self.code, self.params)

    def __str__(self) -> str:
        filled = ", ".join(f"{key}={value!r}" for key, value in self.params.items())
        return f"{self.code}({filled})"


class NotFound(Refusal):
    def __init__(self, noun: str, name: str) -> None:
        super().__init__("not_found", status=404, noun=noun, name=name)


class Unreachable(Refusal):
    """The other side did not answer, or its answer was cut; trying again later may help."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__("unreachable", status=503, where=where, why=why)
