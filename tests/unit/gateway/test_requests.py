from dataclasses import dataclass, field

from gpustack_lite.gateway import requests
from gpustack_lite.gateway.proxies import Seen
from gpustack_lite.wire import Endpoint

ENDPOINT = Endpoint(instance_id=1, address="127.0.0.1:21000", engine_key="ek", served_name="m")


@dataclass
class Asked:
    fields: list[tuple[bytes, bytes]] = field(default_factory=list)
    path: str = "/v1/chat/completions"
    shown_id: bytes = b"id-1"
    target: bytes = b"/v1/chat/completions?beta=true"
    for_engines: dict[tuple[str, str, bytes], tuple[bytes, bytes]] = field(default_factory=dict)


SENT = [
    (b"host", b"gpustack.example"),
    (b"authorization", b"Bearer secret"),
    (b"x-api-key", b"secret"),
    (b"cookie", b"gpustack_lite_session=secret"),
    (b"x-csrf-token", b"secret"),
    (b"x-gpustack-client", b"6.6.6.6"),
    (b"x-gpustack-scheme", b"6.6.6.6"),
    (b"x-forwarded-for", b"6.6.6.6"),
    (b"connection", b"keep-alive"),
    (b"content-length", b"999"),
    (b"content-type", b"application/json"),
    (b"accept-encoding", b"gzip"),
    (b"traceparent", b"00-1-2-01"),
]


def lines(head: bytes) -> list[bytes]:
    return head.removesuffix(b"\r\n\r\n").split(b"\r\n")


def test_an_engine_gets_its_own_key_and_nothing_of_the_clients() -> None:
    assert lines(requests.to_engine(Asked(SENT), b"id-1", ENDPOINT, 12)) == [
        b"POST /v1/chat/completions?beta=true HTTP/1.1",
        b"host: 127.0.0.1:21000",
        b"authorization: Bearer ek",
        b"x-request-id: id-1",
        b"content-type: application/json",
        b"traceparent: 00-1-2-01",
        b"content-length: 12",
    ]


def test_the_server_gets_the_credential_and_the_address_that_we_saw() -> None:
    said = lines(requests.to_server(Asked(SENT), Seen("1.2.3.4", is_https=True), b"POST", None))
    assert b"x-gpustack-client: 1.2.3.4" in said
    assert b"x-gpustack-scheme: https" in said
    assert b"authorization: Bearer secret" in said
    assert b"cookie: gpustack_lite_session=secret" in said
    assert b"host: gpustack.example" in said
    assert b"transfer-encoding: chunked" in said
    assert not any(b"6.6.6.6" in line or b"999" in line for line in said)


def test_of_an_engines_answer_only_what_describes_the_content_passes() -> None:
    fields = [
        (b"content-type", b"text/html"),
        (b"set-cookie", b"a=b"),
        (b"access-control-allow-origin", b"*"),
        (b"server", b"x"),
    ]
    assert requests.to_client(fields) == [(b"x-content-type-options", b"nosniff"), (b"content-type", b"text/html")]


def test_of_the_servers_answer_everything_but_the_framing_passes() -> None:
    fields = [(b"set-cookie", b"a"), (b"set-cookie", b"b"), (b"content-length", b"5"), (b"date", b"d"), (b"etag", b"e")]
    assert requests.of_server(fields) == [(b"set-cookie", b"a"), (b"set-cookie", b"b"), (b"etag", b"e")]


def test_a_length_is_a_number_or_unknown() -> None:
    assert requests.length_of([(b"content-length", b"5")]) == 5
    assert requests.length_of([(b"content-length", b"x")]) is None
    assert requests.length_of([]) is None
