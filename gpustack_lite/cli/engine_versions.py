"""Builds of engines at the terminal: how one is named, how far the workers are, and waiting for them."""

from collections.abc import Mapping
from typing import Any

from gpustack_lite.cli.output import Column
from gpustack_lite.cli.say import tell
from gpustack_lite.client import Client
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Ports

Document = dict[str, Any]
LOOK_AGAIN_SECONDS = 0.25


def workers_shown(build: Mapping[str, Any]) -> list[str]:
    """The name alone of a worker that is ready."""
    return [_on(each) for each in build["workers"]]


def _on(worker: Document) -> str:
    if worker["state"] == "ready":
        return str(worker["worker"])
    fraction = worker.get("fraction")
    done = "" if fraction is None else f" {min(99, int(fraction * 100))}%"
    return f"{worker['worker']} ({worker['state']}{done})"


COLUMNS = (
    Column("id"),
    Column("backend"),
    Column("version"),
    Column("device_kinds_for", lambda build: build["device_kinds"]),
    Column("source"),
    Column("build_default", lambda build: build["is_default"]),
    Column("build_state", lambda build: build["state"]),
    Column("build_workers", workers_shown),
    Column("build_users", lambda build: [f"{each['model']}#{each['id']}" for each in build["instances"]]),
)


def body_of(spec: str, kind: str) -> dict[str, Any]:
    """Raises:
    Refusal: `engine_spec_malformed`.
    """
    backend, sign, version = spec.partition("==")
    if not (backend and sign and version):
        raise Refusal("engine_spec_malformed", given=spec)
    return {"backend": backend.strip().replace("-", "_"), "version": version.strip(), "device_kind": kind}


def id_of(client: Client, ref: str) -> str:
    """Raises:
    Refusal: `engine_version_unclear`.
    """
    if ref.isdigit():
        return ref
    backend, _, version = ref.partition("==")
    every = [each for each in client.items("backends", "versions") if each["id"] is not None]
    found = [each["id"] for each in every if (each["backend"], each["version"]) == (backend.replace("-", "_"), version)]
    if len(found) != 1:
        raise Refusal("engine_version_unclear", given=ref, ids=", ".join(str(each["id"]) for each in every) or "-")
    return str(found[0])


def follow(client: Client, build_id: int, timeout_seconds: float, *, is_quiet: bool) -> Document:
    """Until every worker that has begun is done.

    Raises:
        Refusal: `engine_version_failed` or `engine_version_late`.
    """
    clock, told = Ports().clock, ""
    ends_at = clock.monotonic() + timeout_seconds if timeout_seconds else float("inf")
    while clock.monotonic() < ends_at:
        build = client.get("backends", "versions", str(build_id))
        told = told if is_quiet else _tell_news(build, told)
        if build["state"] == "failed":
            raise _failed(build)
        if build["state"] == "ready":
            return _ready(build, is_quiet)
        clock.pause(LOOK_AGAIN_SECONDS)
    raise Refusal("engine_version_late", backend=build["backend"], version=build["version"])


def _tell_news(build: Document, before: str) -> str:
    said = next((each for each in build["workers"] if each.get("line")), None)
    if said is None or said["line"] == before:
        return before
    tell("engine_version_progress", worker=said["worker"], line=said["line"])
    return str(said["line"])


def _failed(build: Document) -> Refusal:
    said = next(each for each in build["workers"] if each["state"] == "failed")
    told = {"backend": build["backend"], "version": build["version"], "worker": said["worker"]}
    return Refusal("engine_version_failed", **told, message=said.get("state_message") or "-")


def _ready(build: Document, is_quiet: bool) -> Document:
    if not is_quiet:
        names = ", ".join(each["worker"] for each in build["workers"])
        tell("engine_version_ready", backend=build["backend"], version=build["version"], workers=names)
    return build
