"""Behind a real proxy: whom it is asked to reach for us, and whom not."""

from collections.abc import Iterator

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.hubs import hubs_of
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.hub.sources import repository
from gpustack_lite.ports import Ports, SystemNetwork
from gpustack_lite.settings import load
from tests.fakes.connect_proxy import ConnectProxy, running_proxy
from tests.fakes.hub import Hub, running_hub

pytestmark = pytest.mark.integration
LARGE = bytes(8192)


class Names(SystemNetwork):
    """What names mean here; the proxy may know others."""

    def __init__(self, known: dict[str, list[str]]) -> None:
        self._known = known

    def addresses(self, host: str, port: int) -> list[str]:
        if host not in self._known:
            raise OSError(-2, "Name or service not known")
        return self._known[host]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/name", {"config.json": b"{}", "model.safetensors": LARGE})
        yield running


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectProxy]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with running_proxy() as running:
        monkeypatch.setenv("https_proxy", running.url)
        yield running


def led_to(hub: Hub, host: str, names: dict[str, list[str]], *, trusted: bool = False) -> str:
    """Why a file was not fetched that the hub says to lie at `host`."""
    hub.faults.redirect_to = f"https://{host}"
    hubs = hubs_of(load(proxy_trusted=trusted), {"HF_ENDPOINT": hub.url, "HF_HOME": "/nonexistent"})
    network = Names({**names, "127.0.0.1": ["127.0.0.1"]})
    repositories = Repositories(hubs, Ports(network=network))
    try:
        source = repository("huggingface:org/name")
        listing = repositories.list_now(source)
        repositories.read_now(source, listing.commit, "model.safetensors", 0, 10)
    except Refusal as refusal:
        return refusal.code
    finally:
        repositories.close()
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("address", ["10.0.0.7", "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.7", "fd00::7"])
def test_a_name_that_leads_inside_is_not_told_to_the_proxy(hub: Hub, proxy: ConnectProxy, address: str) -> None:
    assert led_to(hub, "inner.test", {"inner.test": ["93.184.216.34", address]}) == "hub_address_private"
    assert proxy.asked_for == []


def test_a_name_that_nobody_here_knows_is_not_told_either(hub: Hub, proxy: ConnectProxy) -> None:
    assert led_to(hub, "inner.test", {}) == "hub_address_unchecked"
    assert proxy.asked_for == []


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "[::ffff:7f00:1]"])
def test_a_number_in_another_spelling_is_no_way_round(hub: Hub, proxy: ConnectProxy, host: str) -> None:
    """The system's resolver reads the first four as 127.0.0.1; httpx takes one of them for no address at all."""
    refusals = {"hub_address_private", "hub_address_unchecked", "hub_cut_short"}
    assert {led_to(hub, host, {host: ["127.0.0.1"]}), led_to(hub, host, {})} <= refusals
    assert proxy.asked_for == []


def test_a_public_name_is_reached_through_the_proxy(hub: Hub, proxy: ConnectProxy) -> None:
    led_to(hub, "cdn.test", {"cdn.test": ["93.184.216.34"]})
    assert proxy.asked_for == ["CONNECT cdn.test:443"]


def test_names_of_the_hubs_themselves_need_not_be_known_here(hub: Hub, proxy: ConnectProxy) -> None:
    led_to(hub, "cdn-lfs.hf.co", {})
    assert proxy.asked_for == ["CONNECT cdn-lfs.hf.co:443"]


def test_a_name_that_only_looks_like_a_hub_s_is_none(hub: Hub, proxy: ConnectProxy) -> None:
    assert led_to(hub, "evil-hf.co", {}) == "hub_address_unchecked"
    assert led_to(hub, "hf.co.evil.test", {}) == "hub_address_unchecked"
    assert proxy.asked_for == []


def test_a_proxy_that_an_administrator_trusts_decides_itself(hub: Hub, proxy: ConnectProxy) -> None:
    led_to(hub, "inner.test", {}, trusted=True)
    assert proxy.asked_for == ["CONNECT inner.test:443"]
