"""Which replica has the beginning of a prompt cached: hashes over growing beginnings of a body, remembered."""

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence

LEAST_BYTES = 1024
"""A shorter beginning is prefilled about as fast as it is looked up."""
MOST_BYTES = 256 * 1024
MOST_MARKS = 16_384
REPLICAS_PER_MARK = 3
_BLOCK_BYTES = 512
_PROMPT = re.compile(rb'"(?:messages|prompt|input|system|instructions|tools)"\s*:\s*')
_HEAD_BYTES = 4096
Chain = tuple[tuple[int, int], ...]
"""(bytes, hash of so many bytes of the prompt), the shortest first."""


def _ends() -> Iterator[int]:
    """Blocks grow with the prompt, so that a long one has few marks and at most an eighth of a prefix goes unseen."""
    at = LEAST_BYTES
    while at <= MOST_BYTES:
        yield at
        at += max(_BLOCK_BYTES, at // 8)


_ENDS = tuple(_ends())


def chain(model: str, body: bytes | bytearray) -> Chain:
    """Empty where the prompt is too short to gain anything.

    It begins behind the first key that holds the prompt, so that a model's name or a temperature before it changes
    nothing, and what follows a shared beginning does not reach back. Python's own hash has a secret of this process
    in it: nobody makes prompts that collide.
    """
    found = _PROMPT.search(body, 0, _HEAD_BYTES)
    if found is None or len(body) - found.end() < LEAST_BYTES:
        return ()
    start, last, marks = found.end(), 0, []
    mark = hash((model, bytes(body[found.start() : start]).split(b":")[0]))
    for end in _ENDS:
        if start + end > len(body):
            break
        mark = hash((mark, bytes(body[start + last : start + end])))
        marks.append((end, mark))
        last = end
    return tuple(marks)


class Prefixes:
    """The newest marks and the replicas that last saw them; the oldest are forgotten."""

    def __init__(self, most_marks: int = MOST_MARKS) -> None:
        self._most = most_marks
        self._seen: OrderedDict[int, tuple[int, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def cached_bytes(self, marks: Chain) -> dict[int, int]:
        """Replica -> how much of the prompt's beginning it has seen."""
        found: dict[int, int] = {}
        for size, mark in reversed(marks):
            for replica in self._seen.get(mark, ()):
                found.setdefault(replica, size)
        return found

    def note(self, marks: Chain, replica: int) -> None:
        """This replica is given the prompt now."""
        for _, mark in marks:
            others = [each for each in self._seen.get(mark, ()) if each != replica]
            self._seen[mark] = (replica, *others[: REPLICAS_PER_MARK - 1])
            self._seen.move_to_end(mark)
        while len(self._seen) > self._most:
            self._seen.popitem(last=False)

    def forget(self, marks: Chain, replica: int) -> None:
        """It said that it had not kept this beginning."""
        for _, mark in marks:
            left = tuple(each for each in self._seen.get(mark, ()) if each != replica)
            if left:
                self._seen[mark] = left
            else:
                self._seen.pop(mark, None)

    def keep_only(self, replicas: Sequence[int] | set[int] | frozenset[int]) -> None:
        """Forget replicas that are gone."""
        gone = [mark for mark, theirs in self._seen.items() if not any(each in replicas for each in theirs)]
        for mark in gone:
            del self._seen[mark]
