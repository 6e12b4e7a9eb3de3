"""Repositories read from a hub that speaks HTTP: what is listed, any range, every fault by its sentence."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.hubs import Hubs, hubs_of
from gpustack_lite.hub.listing import Listing
from gpustack_lite.hub.repository import Repositories
from gpustack_lite.hub.sources import repository
from gpustack_lite.ports import Ports, SystemNetwork
from gpustack_lite.settings import load
from tests.fakes.hub import Hub, running_hub

pytestmark = pytest.mark.integration
LARGE = bytes(range(256)) * 64
FILES = {"config.json": b"{}", "model.safetensors": LARGE, "sub/more.json": b"[]"}
HF, MS = repository("huggingface:org/name"), repository("modelscope:org/name")


MADE: list[Repositories] = []


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/name", FILES)
        yield running
        while MADE:
            MADE.pop().close()


def asked(hub: Hub, environ: dict[str, str] | None = None, **settings: object) -> Repositories:
    given = {"HF_ENDPOINT": hub.url, "MODELSCOPE_ENDPOINT": hub.url, "HF_HOME": "/nonexistent", **(environ or {})}
    return made(hubs_of(load(**settings), given), Ports())


def made(hubs: Hubs, ports: Ports) -> Repositories:
    MADE.append(Repositories(hubs, ports))
    return MADE[-1]


def refusal(repositories: Repositories, source: str = "huggingface:org/name") -> Refusal:
    try:
        listing = repositories.list_now(repository(source))
        repositories.read_now(repository(source), listing.commit, "model.safetensors", 0, 10)
    except Refusal as refused:
        return refused
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("source", [HF, MS], ids=["huggingface", "modelscope"])
async def test_a_repository_is_listed_and_read(hub: Hub, source: object) -> None:
    repositories = asked(hub)
    listing = await repositories.list(source)  # type: ignore[arg-type]
    assert listing.commit == hub.repos["org/name"].commit
    assert [(each.path, each.size_bytes) for each in listing.files] == [(k, len(v)) for k, v in sorted(FILES.items())]
    large = next(each for each in listing.files if each.path == "model.safetensors")
    assert large.sha256 == hashlib.sha256(LARGE).hexdigest()
    read = await repositories.read(source, listing.commit, "model.safetensors", 300, 100)  # type: ignore[arg-type]
    assert read == LARGE[300:400]


def test_a_listing_in_pages_is_whole(hub: Hub) -> None:
    hub.page = 2
    assert len(asked(hub).list_now(HF).files) == 3


def test_a_commit_is_not_looked_up(hub: Hub) -> None:
    commit = hub.repos["org/name"].commit
    assert asked(hub).list_now(HF, commit).commit == commit
    assert not any("/revision/" in path for path in hub.paths())


def test_a_branch_whose_hash_the_hub_does_not_tell_is_read_by_its_name(hub: Hub) -> None:
    assert asked(hub).list_now(MS, "dev").commit == "dev"


def test_the_end_of_a_file_is_short_and_beyond_it_is_nothing(hub: Hub) -> None:
    repositories = asked(hub)
    assert repositories.read_now(HF, "main", "model.safetensors", len(LARGE) - 5, 100) == LARGE[-5:]
    assert repositories.read_now(HF, "main", "model.safetensors", len(LARGE), 100) == b""


def test_a_file_streams_on_from_where_it_stopped(hub: Hub) -> None:
    with asked(hub).stream_now(HF, "main", "model.safetensors", 1000) as chunks:
        assert b"".join(chunks) == LARGE[1000:]


def test_a_server_without_ranges_is_read_through_near_the_beginning_only(hub: Hub) -> None:
    hub.faults.no_ranges = True
    repositories = asked(hub)
    assert repositories.read_now(HF, "main", "model.safetensors", 300, 100) == LARGE[300:400]
    with pytest.raises(Refusal, match="hub_no_ranges"):
        repositories.read_now(HF, "main", "model.safetensors", 5 * 1024**2, 100)
    with (
        pytest.raises(Refusal, match="hub_no_ranges"),
        repositories.stream_now(HF, "main", "model.safetensors", 10) as chunks,
    ):
        list(chunks)


def test_a_repository_that_is_not_there(hub: Hub) -> None:
    assert refusal(asked(hub, {"HF_TOKEN": "any"}), "huggingface:org/other").code == "hub_repository_missing"
    assert refusal(asked(hub), "huggingface:org/other").code == "hub_needs_token"
    assert refusal(asked(hub), "modelscope:org/other").code == "hub_repository_missing"


def test_a_revision_that_is_not_there(hub: Hub) -> None:
    said = refusal(asked(hub), "huggingface:org/name@v9")
    assert (said.code, said.params["revision"]) == ("hub_revision_missing", "v9")


def test_a_gated_repository_says_where_to_accept_its_terms(hub: Hub) -> None:
    hub.add("org/name", FILES, token="secret-token", gated=True)
    assert refusal(asked(hub)).code == "hub_gated"
    assert asked(hub, {"HF_TOKEN": "secret-token"}).list_now(HF).files


def test_a_token_is_for_the_endpoint_and_goes_to_no_other_host(hub: Hub) -> None:
    hub.add("org/name", FILES, token="secret-token")
    with running_hub() as elsewhere:
        elsewhere.add("org/name", FILES)
        hub.faults.redirect_to = elsewhere.url
        repositories = asked(hub, {"HF_TOKEN": "secret-token"}, url_hosts=(elsewhere.url,))
        assert repositories.read_now(HF, "main", "model.safetensors", 0, 4) == LARGE[:4]
        assert [request.headers.get("Authorization") for request in elsewhere.seen] == [None]
    assert hub.seen[-1].headers["Authorization"] == "Bearer secret-token"


def test_a_token_appears_in_no_representation(hub: Hub) -> None:
    hubs = hubs_of(load(), {"HF_TOKEN": "secret-token", "MODELSCOPE_API_TOKEN": "secret-token"})
    assert "secret-token" not in repr(hubs)


def test_a_redirect_into_the_own_network_is_refused_before_anything_is_connected_to(hub: Hub) -> None:
    with running_hub() as inside:
        hub.faults.redirect_to = inside.url
        assert refusal(asked(hub)).code == "hub_address_plain_http"
        hub.faults.redirect_to = f"https://127.0.0.1:{inside.port}"
        assert refusal(asked(hub)).code == "hub_address_private"
        assert inside.seen == []


class Rebinding(SystemNetwork):
    """A name that is public when it is first asked about, and inside later."""

    def __init__(self, answers: list[list[str]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def addresses(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.answers.pop(0)


def test_a_name_that_resolves_into_the_own_network_is_refused(hub: Hub) -> None:
    network = Rebinding([["127.0.0.1"]])
    hubs = Hubs(hubs_of(load(), {}).endpoints)
    with pytest.raises(Refusal, match="hub_address_private"):
        made(hubs, Ports(network=network)).list_now(HF)
    assert network.asked == ["huggingface.co"]


def test_a_name_is_asked_once_for_a_request_and_connected_to_as_checked(hub: Hub) -> None:
    """The endpoint's name does not exist anywhere: only the address that was checked can be what is connected to."""
    network = Rebinding([["127.0.0.1"], ["127.0.0.1"]])
    environ = {"HF_ENDPOINT": f"http://hub.invalid:{hub.port}", "HF_HOME": "/nonexistent"}
    assert made(hubs_of(load(), environ), Ports(network=network)).list_now(HF).files
    assert hub.seen[0].headers["Host"] == f"hub.invalid:{hub.port}"


def test_a_hub_that_is_busy_says_for_how_long(hub: Hub) -> None:
    hub.faults.busy = -1
    said = refusal(asked(hub))
    assert (said.code, said.params["seconds"]) == ("hub_busy", 7)


def test_an_answer_that_breaks_off(hub: Hub) -> None:
    hub.faults.truncate = -1
    assert refusal(asked(hub)).code == "hub_cut_short"


def test_a_hub_that_is_slow_is_waited_for_until_the_deadline_only(hub: Hub) -> None:
    hub.faults.hold = threading.Event()
    repositories = asked(hub)
    with pytest.raises(Refusal, match="hub_slow"):
        repositories.list_now(HF, deadline=repositories.deadline(0.3))


def test_a_hub_that_fails(hub: Hub) -> None:
    hub.faults.broken = -1
    assert refusal(asked(hub)).code == "hub_failed"


def test_nothing_listens(hub: Hub) -> None:
    assert refusal(asked(hub, {"HF_ENDPOINT": "http://127.0.0.1:9"})).code == "hub_unreachable"


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", None], ids=["variable", "setting"])
def test_offline_asks_nobody(hub: Hub, variable: str | None) -> None:
    repositories = asked(hub, {variable: "1"}) if variable else asked(hub, offline=True)
    assert refusal(repositories).code == "hub_offline"
    assert hub.seen == []


def test_a_hub_that_is_not_allowed(hub: Hub) -> None:
    assert refusal(asked(hub, hubs=("modelscope",))).code == "hub_not_allowed"


def test_a_url_is_fetched_from_allowed_hosts_only(hub: Hub) -> None:
    hub.add("org/gguf", {"m-00001-of-00002.gguf": LARGE, "m-00002-of-00002.gguf": b"GGUF"})
    source = f"{hub.url}/files/org/gguf/m-00001-of-00002.gguf"
    assert refusal(asked(hub), source).code == "url_host_not_allowed"
    repositories = asked(hub, url_hosts=(hub.url,))
    listing: Listing = repositories.list_now(repository(source))
    assert [(each.path, each.size_bytes) for each in listing.files] == [
        ("m-00001-of-00002.gguf", len(LARGE)),
        ("m-00002-of-00002.gguf", 4),
    ]
    read = repositories.read_now(repository(source), listing.commit, "m-00002-of-00002.gguf", 0, 100)
    assert read == b"GGUF"


def test_a_proxy_is_used_where_the_environment_names_one(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake is the proxy here: a proxy is asked for the whole address."""
    monkeypatch.setenv("http_proxy", hub.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert asked(hub, {"HF_ENDPOINT": "http://hub.invalid"}).list_now(HF).files
    assert hub.paths()[0] == "http://hub.invalid/api/models/org/name/revision/main"


def test_a_stored_token_is_found_where_the_hub_s_own_client_leaves_it(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("stored\n", encoding="ascii")
    assert hubs_of(load(), {"HF_HOME": str(tmp_path)}).endpoint("huggingface").token == "stored"
