"""Which addresses may be fetched from: every hop, by scheme, host and what the name resolves to."""

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.confinement import Origin, check_hop, is_public, named, origin_of, reachable

MIRROR = Origin("http", "10.0.0.5", 8080)


def test_an_origin_has_its_usual_port_and_no_final_dot() -> None:
    assert origin_of("https://Hub.Example.org./x") == Origin("https", "hub.example.org", 443)


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        pytest.param("models.example.org", Origin("https", "models.example.org", 443), id="a host is asked by https"),
        pytest.param("models.example.org:8443", Origin("https", "models.example.org", 8443), id="with a port"),
        pytest.param("http://10.0.0.5:8080", MIRROR, id="an origin as it is"),
    ],
)
def test_a_host_of_the_setting(given: str, origin: Origin) -> None:
    assert named(given) == origin


@pytest.mark.parametrize(
    ("url", "code"),
    [
        pytest.param("http://hub.example.org/x", "hub_address_plain_http", id="plain http"),
        pytest.param("ftp://hub.example.org/x", "hub_address_malformed", id="another scheme"),
        pytest.param("file:///etc/passwd", "hub_address_malformed", id="a file"),
        pytest.param("https://user:secret@hub.example.org/x", "hub_address_credentials", id="a password"),
        pytest.param("https://127.0.0.1/x", "hub_address_private", id="loopback"),
        pytest.param("https://localhost/x", "hub_address_private", id="localhost"),
        pytest.param("https://localhost./x", "hub_address_private", id="localhost with a dot"),
        pytest.param("https://[::1]/x", "hub_address_private", id="loopback in IPv6"),
        pytest.param("https://169.254.169.254/latest/meta-data", "hub_address_private", id="cloud metadata"),
        pytest.param("https://[fe80::1%25eth0]/x", "hub_address_private", id="link-local with a zone"),
        pytest.param("https://hub.example.org:99999/x", "hub_address_malformed", id="no port"),
    ],
)
def test_a_hop_that_is_refused(url: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_hop(url, {MIRROR})
    assert refused.value.code == code
    assert "secret" not in str(refused.value)


def test_what_an_administrator_named_may_be_private_and_plain_but_on_its_port_only() -> None:
    assert check_hop("http://10.0.0.5:8080/org/name", {MIRROR}) == MIRROR
    with pytest.raises(Refusal, match="plain_http"):
        check_hop("http://10.0.0.5:8081/org/name", {MIRROR})


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::1",
        "2001:0:53aa:64c::1",
        "not an address",
    ],
)
def test_an_address_that_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["18.155.68.1", "2600:9000:21f8::1", "::ffff:18.155.68.1", "64:ff9b::129b:4401"])
def test_an_address_that_is_public(address: str) -> None:
    assert is_public(address)


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    url = "https://rebound.example.org/x"
    with pytest.raises(Refusal, match="private"):
        reachable(url, origin_of(url), (), ["18.155.68.1", "10.0.0.1"])


def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    url = "https://hub.example.org/x"
    assert reachable(url, origin_of(url), (), ["18.155.68.1", "18.155.68.2"]) == "18.155.68.1"
    assert reachable("http://10.0.0.5:8080/", MIRROR, {MIRROR}, ["10.0.0.5"]) == "10.0.0.5"
