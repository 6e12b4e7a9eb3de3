import pytest

from gpustack_lite.relay.target import Target, parse


@pytest.mark.parametrize(
    ("address", "target", "host_field"),
    [
        pytest.param("127.0.0.1:21000", Target("127.0.0.1", 21000), b"127.0.0.1:21000", id="IPv4"),
        pytest.param("[::1]:21000", Target("::1", 21000), b"[::1]:21000", id="IPv6"),
        pytest.param("unix:/run/x.sock", Target(unix_path="/run/x.sock"), b"localhost", id="Unix socket"),
    ],
)
def test_an_address_is_read_and_said_in_the_host_field(address: str, target: Target, host_field: bytes) -> None:
    assert parse(address) == target
    assert parse(address).host_field == host_field


@pytest.mark.parametrize("address", ["", "host", ":80", "host:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"not host:port|invalid literal"):
        parse(address)
