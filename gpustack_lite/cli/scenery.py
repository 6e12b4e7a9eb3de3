"""Workers that are only described, and models read from this machine's files: for answers without a server."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import platformdirs

from backends import registry
from backends.base import Backend
from gpustack_lite.api.rules import check_devices
from gpustack_lite.domain import ModelFacts, PlacementWish
from gpustack_lite.errors import Refusal
from gpustack_lite.hub import facts, sources
from gpustack_lite.hub.hubs import hubs_of
from gpustack_lite.hub.remote_facts import RemoteFacts
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.planning.evaluation import Surroundings, document, evaluate
from gpustack_lite.planning.subject import Subject, examples, extent
from gpustack_lite.ports import Ports
from gpustack_lite.settings import load
from scheduler import Node
from worker.devices.cpu import machine
from worker.devices.declared import Declaration, declaration

NAME = "simulated"
_PLENTY = 1024**5
"""Of disk, where nobody says how much: then it is not what anything fails for."""


def simulated(spec: str) -> Node:
    """The worker that a SPEC describes; unless it says so, it has the RAM of this machine, all free."""
    return node_of(declaration(spec), NAME)


def node_of(
    declared: Declaration,
    name: str,
    labels: Mapping[str, str] | None = None,
    disk_bytes: int | None = None,
    backends: frozenset[str] = frozenset(),
) -> Node:
    called = declared.name or name
    return Node(
        called,
        labels=labels or {},
        devices=declared.devices(called),
        foreign=dict.fromkeys(range(sum(each.count for each in declared.declared)), 0),
        ram_total_bytes=declared.ram_bytes or machine().ram_total_bytes,
        disk_free_bytes=disk_bytes or _PLENTY,
        backends=backends or frozenset(registry.names()),
    )


def evaluated(body: Mapping[str, Any], variants: Sequence[str], nodes: tuple[Node, ...]) -> dict[str, Any]:
    """Raises:
    Refusal: the files cannot be read, or nobody serves them.
    """
    wish = wish_of(body.get("placement") or {})
    subject = subject_of(body, nodes)
    others = tuple(subject_of({**body, "source": each}, nodes) for each in variants)
    found = document(evaluate(subject, Surroundings(nodes), wish, others))
    return {**found, "disk_free_bytes": None} if found["disk_free_bytes"] == _PLENTY else found


def subject_of(body: Mapping[str, Any], nodes: Sequence[Node], known: ModelFacts | None = None) -> Subject:
    source, named = _with_revision(body), body.get("backend")
    backend = _named(named)
    read = known
    if known is None and (backend is None or backend.needs_facts):
        read = read_facts(source)
    devices = examples(nodes)
    backend = backend or registry.choose(read, source, devices)
    options = dict(body.get("options") or {})
    backend.check(options, {})
    picked = len((body.get("placement") or {}).get("devices") or ()) or None
    name, there = str(named or backend.name), extent([each.kind for each in node.devices] for node in nodes)
    return Subject(
        *(str(body["source"]), read, backend, name, options, devices, picked),
        extent=there,
        trust_remote_code=body.get("trust_remote_code") is True,
        allow_pickle=body.get("allow_pickle") is True,
    )


def _named(name: object) -> Backend | None:
    if name is None:
        return None
    if name not in registry.names():
        raise Refusal("unknown_backend", param="backend", name=str(name), names=", ".join(registry.names()))
    return registry.find(str(name))


def _with_revision(body: Mapping[str, Any]) -> str:
    return sources.question(str(body["source"]), body.get("source_revision"), body.get("include") or ())


def read_facts(source: str) -> ModelFacts:
    """A file or a directory of this machine, wherever it is: whoever runs the command may read it anyway.

    What lies on a hub is asked for there, and remembered in the user's cache.
    """
    if sources.is_remote(source):
        return _on_hub(sources.repository(source))
    path = Path(source.removeprefix("file:")).expanduser().absolute()
    found = facts.read(path, [Path(path.anchor)])
    return replace(found, path=str(path))


def _on_hub(source: sources.Source) -> ModelFacts:
    settings, ports = load(), Ports()
    repositories = Repositories(hubs_of(settings, os.environ), ports)
    folder = platformdirs.user_cache_path("gpustack-lite", appauthor=False) / "hub"
    try:
        return RemoteFacts(repositories, ports.disk, folder).read(source)
    finally:
        repositories.close()


def wish_of(placement: Mapping[str, Any]) -> PlacementWish:
    """Raises:
    Refusal: `device_address`.
    """
    check_devices(placement.get("devices") or [])
    return PlacementWish(**dict(_wished(placement)))


def _wished(placement: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in placement.items():
        if name in PlacementWish.__dataclass_fields__ and value is not None:
            yield name, tuple(value) if isinstance(value, list) else value
