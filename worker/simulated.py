"""What serves simulated devices: a version of every engine of their kinds, for which the echo engine runs."""

from collections.abc import Iterable

from backends import registry
from gpustack_lite.domain import BackendVersion, Device

VERSION = "simulated"


def simulated_versions(devices: Iterable[Device]) -> tuple[BackendVersion, ...]:
    """Of the engines that our installer cannot make yet; the others have versions of their own."""
    kinds = frozenset(each.kind for each in devices if each.simulated)
    backends = [registry.find(name) for name in registry.names()] if kinds else []
    return tuple(
        BackendVersion(each.name, VERSION, each.device_kinds & kinds, source="builtin", installed=True)
        for each in backends
        if each.needs_facts and not each.versions() and each.device_kinds & kinds
    )
