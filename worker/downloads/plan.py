"""What to do so that the files here become what the Assignment lists: values only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack_lite.errors import Refusal
from gpustack_lite.wire import AssignedFiles


@dataclass(frozen=True, slots=True)
class Become:
    """Begin to hold them, to rest, or to delete them: `files.wanted` says which."""

    files: AssignedFiles


@dataclass(frozen=True, slots=True)
class Drop:
    """Nobody knows of them any more: stop whatever goes on, and leave what lies there."""

    id: int


Action = Become | Drop


def plan(wanted: Iterable[AssignedFiles], known: Mapping[int, AssignedFiles]) -> list[Action]:
    """Deletions come first, because they make room."""
    listed = {each.id: each for each in wanted}
    changed = [each for id_, each in sorted(listed.items()) if known.get(id_) != each]
    dropped: list[Action] = [Drop(id_) for id_ in sorted(known) if id_ not in listed]
    return dropped + [Become(each) for each in sorted(changed, key=lambda each: each.wanted != "absent")]


def no_room(missing_bytes: int, free_bytes: int, reserve_bytes: int, path: str) -> Refusal | None:
    """The reserve is left for everything else that writes there: the database, logs, the system."""
    if missing_bytes + reserve_bytes <= free_bytes:
        return None
    return Refusal(
        "files_no_room",
        status=507,
        path=path,
        needed_bytes=missing_bytes,
        free_bytes=free_bytes,
        reserve_bytes=reserve_bytes,
        lacking_bytes=missing_bytes + reserve_bytes - free_bytes,
    )
