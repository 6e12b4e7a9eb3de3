"""Files that one process alone writes: their names say which, so whoever finds one knows whether its writer lives."""

from gpustack_lite.ports import Identity


def name_of(kind: str, writer: Identity, number: int, suffix: str) -> str:
    return f"{kind}.{writer.pid}.{writer.start_ticks}.{writer.boot_id}.{number}{suffix}"


def writer_of(name: str, kind: str, suffix: str) -> Identity | None:
    """The process that a file's name says has written it; None for a file of another kind."""
    parts = name.split(".")
    if len(parts) != 6 or parts[0] != kind or not name.endswith(suffix):
        return None
    if not (parts[1].isdigit() and parts[2].isdigit() and parts[4].isdigit()):
        return None
    return Identity(int(parts[1]), int(parts[2]), parts[3])
