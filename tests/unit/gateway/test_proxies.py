import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lite.gateway.proxies import Proxies, Seen, parsed

OURS = parsed(["10.0.0.1", "192.168.0.0/24", "fd00::/64"])


def said(*pairs: str) -> list[tuple[bytes, bytes]]:
    """name: value."""
    return [(name.encode(), value.encode()) for name, _, value in (pair.partition(": ") for pair in pairs)]


@pytest.mark.parametrize(
    ("peer", "fields", "address"),
    [
        pytest.param("10.0.0.1", ["x-forwarded-for: 203.0.113.9"], "203.0.113.9", id="one proxy"),
        pytest.param("10.0.0.1", ["x-forwarded-for: 6.6.6.6, 203.0.113.9"], "203.0.113.9", id="a client that lies"),
        pytest.param(
            "10.0.0.1", ["x-forwarded-for: 6.6.6.6, 203.0.113.9, 192.168.0.7"], "203.0.113.9", id="two proxies"
        ),
        pytest.param(
            "10.0.0.1", ["x-forwarded-for: 203.0.113.9", "x-forwarded-for: 192.168.0.7"], "203.0.113.9", id="two fields"
        ),
        pytest.param("10.0.0.1", [], "10.0.0.1", id="a proxy that says nothing"),
        pytest.param("10.0.0.1", ["x-forwarded-for: , ,"], "10.0.0.1", id="nothing in it"),
        pytest.param("10.0.0.1", ["x-forwarded-for: 203.0.113.9, unknown"], "10.0.0.1", id="no address"),
        pytest.param("10.0.0.1", ["x-forwarded-for: 192.168.0.7"], "192.168.0.7", id="the proxy itself asks"),
        pytest.param("10.0.0.1", ["x-forwarded-for: 203.0.113.9:55555"], "203.0.113.9", id="with a port"),
        pytest.param("fd00::1", ["x-forwarded-for: [2001:db8::9]:443"], "2001:db8::9", id="IPv6 with a port"),
        pytest.param("::ffff:10.0.0.1", ["x-forwarded-for: 2001:db8::9"], "2001:db8::9", id="IPv4 in IPv6"),
        pytest.param("203.0.113.5", ["x-forwarded-for: 10.0.0.1"], "203.0.113.5", id="a stranger"),
        pytest.param("unknown", ["x-forwarded-for: 6.6.6.6"], "unknown", id="a local socket"),
    ],
)
def test_the_client_is_the_last_hop_that_no_proxy_of_ours_is(peer: str, fields: list[str], address: str) -> None:
    assert OURS.look_behind(peer, said(*fields), is_tls=False).address == address


def test_without_the_setting_nobody_is_believed() -> None:
    fields = said("x-forwarded-for: 203.0.113.9", "x-forwarded-proto: https")
    assert Proxies().look_behind("127.0.0.1", fields, is_tls=False) == Seen("127.0.0.1", is_https=False)


@pytest.mark.parametrize(
    ("peer", "scheme", "is_tls", "is_https"),
    [
        ("10.0.0.1", "https", False, True),
        ("10.0.0.1", "http", False, False),
        ("10.0.0.1", "https, http", False, False),
        ("10.0.0.2", "https", False, False),
        ("10.0.0.2", "http", True, True),
    ],
)
def test_tls_ends_at_us_or_at_a_proxy_that_is_believed(peer: str, scheme: str, is_tls: bool, is_https: bool) -> None:
    seen = OURS.look_behind(peer, said(f"x-forwarded-proto: {scheme}"), is_tls=is_tls)
    assert seen.is_https is is_https


@given(st.binary(max_size=200))
def test_whatever_stands_in_the_field_an_address_comes_out(text: bytes) -> None:
    assert OURS.look_behind("10.0.0.1", [(b"x-forwarded-for", text)], is_tls=False).address


def test_a_network_with_bits_behind_its_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="host bits"):
        parsed(["10.0.0.1/8"])
