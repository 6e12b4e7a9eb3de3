"""Who really asks, when a proxy stands before us: its word counts only where the setting says that it is ours."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from gpustack_lite.relay.heads import Field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Seen:
    """The client's address as it can be known, and whether it speaks TLS to us or to our proxy."""

    address: str
    is_https: bool


@dataclass(frozen=True, slots=True)
class Proxies:
    trusted: tuple[Network, ...] = ()

    def look_behind(self, peer: str, fields: Iterable[Field], *, is_tls: bool) -> Seen:
        """The last address in X-Forwarded-For that is not a proxy of ours; what stands before it anybody can write."""
        if not self._trusts(peer):
            return Seen(peer, is_tls)
        given = list(fields)
        scheme = _entries(given, b"x-forwarded-proto")
        return Seen(self._client(peer, _entries(given, b"x-forwarded-for")), is_tls or scheme[-1:] == ["https"])

    def _client(self, peer: str, hops: list[str]) -> str:
        nearest = peer
        for hop in reversed(hops):
            address = _address(hop)
            if address is None:
                return nearest
            nearest = str(address)
            if not self._trusts(nearest):
                return nearest
        return nearest

    def _trusts(self, peer: str) -> bool:
        if not self.trusted:
            return False
        address = _address(peer)
        return address is not None and any(address in network for network in self.trusted)


def parsed(networks: Iterable[str]) -> Proxies:
    """
    Raises:
        ValueError: one is neither an address nor a network.
    """
    return Proxies(tuple(ipaddress.ip_network(each) for each in networks))


def _entries(fields: Iterable[Field], name: bytes) -> list[str]:
    """Of a field that may come several times and hold several values: all of them, in order."""
    values = b",".join(value for key, value in fields if key == name).decode("latin-1")
    return [entry for entry in (part.strip() for part in values.split(",")) if entry]


def _address(text: str) -> Address | None:
    """With or without a port, IPv6 with or without brackets; an IPv4 address in IPv6's clothes is what it is."""
    bare = text
    if text.startswith("["):
        bare = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        bare = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
