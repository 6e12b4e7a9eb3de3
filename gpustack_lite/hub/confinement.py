"""Which addresses a hub's files may be fetched from: decided for every hop before anything is connected to; pure."""

from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from gpustack_lite.errors import Refusal

_PORTS = {"http": 80, "https": 443}
_OF_HUBS = (".huggingface.co", ".hf.co", ".modelscope.cn")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")


class Origin(NamedTuple):
    """`host` is in lower case, without brackets and without a final dot."""

    scheme: str
    host: str
    port: int


def origin_of(url: str) -> Origin:
    """Raises:
    Refusal: `hub_address_refused`: no http or https, no host, a user name in it, or a port that is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise refused(url, "malformed") from error
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme not in _PORTS or not host:
        raise refused(url, "malformed")
    if parts.username is not None or parts.password is not None:
        raise refused(url, "credentials")
    return Origin(parts.scheme, host, port or _PORTS[parts.scheme])


def named(host: str) -> Origin:
    """An entry of the setting `url_hosts`: a host, host:port (https both) or an origin with its scheme."""
    return origin_of(host if "://" in host else f"https://{host}")


def check_hop(url: str, trusted: Collection[Origin]) -> Origin:
    """One hop of a fetch, the first included. What an administrator named may be plain HTTP; all else is HTTPS."""
    origin = origin_of(url)
    if origin in trusted:
        return origin
    if origin.scheme != "https":
        raise refused(url, "plain_http")
    literal = _literal(origin.host)
    if origin.host == "localhost" or (literal is not None and not _is_public(literal)):
        raise refused(url, "private")
    return origin


def is_of_hub(host: str) -> bool:
    """A name that only Hugging Face or ModelScope can give an address."""
    return host.endswith(_OF_HUBS) or f".{host}" in _OF_HUBS


def reachable(url: str, origin: Origin, trusted: Collection[Origin], addresses: Iterable[str]) -> str:
    """The address to connect to, of those that the name has now; every one must be public unless the host is trusted.

    Raises:
        Refusal: `hub_address_refused`, or `hub_unreachable` where the name has no address.
    """
    found = list(addresses)
    if not found:
        raise Refusal("hub_unreachable", status=502, host=origin.host, why="no address")
    if origin not in trusted and not all(is_public(each) for each in found):
        raise refused(url, "private")
    return found[0]


def is_public(address: str) -> bool:
    """Also of what IPv6 wraps: mapped, compatible, translated (NAT64) and tunnelled (6to4) IPv4 addresses."""
    literal = _literal(address)
    return literal is not None and _is_public(literal)


def refused(url: str, why: str) -> Refusal:
    """Of the address only its host is told: the rest of a signed URL is a secret."""
    return Refusal(f"hub_address_{why}", status=403, param="source", host=_host(url))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "?"
    except ValueError:
        return "?"


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        if address.teredo is not None:
            return False
        inner = _wrapped(address)
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _wrapped(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour
