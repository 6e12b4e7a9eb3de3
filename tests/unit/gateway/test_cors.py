import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.cors import Cors, taken, without_cookie

PAGE = b"https://chat.example"
ONE = Cors(["https://Chat.example", "http://localhost:3000"])
EVERY = Cors(["*"])


def sent(origin: bytes = PAGE, **more: bytes) -> dict[bytes, bytes]:
    return {b"origin": origin, **{name.replace("_", "-").encode(): value for name, value in more.items()}}


@pytest.mark.parametrize(
    ("cors", "origin", "allowed"),
    [
        pytest.param(ONE, PAGE, PAGE, id="named"),
        pytest.param(ONE, b"http://localhost:3000", b"http://localhost:3000", id="another one that is named"),
        pytest.param(EVERY, b"https://anybody.example", b"*", id="every origin"),
    ],
)
def test_an_origin_that_is_named_may_ask_and_read(cors: Cors, origin: bytes, allowed: bytes) -> None:
    for fields in (cors.fields(sent(origin)), cors.preflight(sent(origin))):
        assert dict(fields)[b"access-control-allow-origin"] == allowed
        assert (b"vary", b"origin") in fields
        assert b"access-control-allow-credentials" not in dict(fields)
    shown = dict(cors.fields(sent(origin)))[b"access-control-expose-headers"]
    assert {b"x-request-id", b"retry-after", b"x-ratelimit-remaining-tokens"} <= set(shown.split(b", "))


@pytest.mark.parametrize(
    ("cors", "origin"),
    [
        pytest.param(Cors(), PAGE, id="none is named"),
        pytest.param(ONE, b"https://chat.example.evil.example", id="begins alike"),
        pytest.param(ONE, b"https://evil-chat.example", id="ends alike"),
        pytest.param(ONE, b"http://chat.example", id="another scheme"),
        pytest.param(ONE, b"https://chat.example:8443", id="another port"),
        pytest.param(ONE, b"null", id="no origin at all"),
        pytest.param(ONE, b"", id="nothing"),
    ],
)
def test_any_other_is_told_so_in_one_sentence(cors: Cors, origin: bytes) -> None:
    assert cors.fields(sent(origin)) == []
    with pytest.raises(Refusal) as refused:
        cors.preflight(sent(origin))
    assert (refused.value.code, refused.value.status) == ("cors_not_allowed", 403)


def test_a_request_that_no_page_makes_is_answered_as_ever() -> None:
    assert EVERY.fields({b"host": b"x"}) == []


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (b"authorization,content-type", b"authorization, content-type"),
        (
            b"X-API-Key, x-stainless-lang, X-Stainless-Retry-Count",
            b"x-api-key, x-stainless-lang, x-stainless-retry-count",
        ),
        (b"anthropic-version,x-csrf-token,cookie,x-gpustack-client", b"anthropic-version"),
        (b"", b""),
        (b"authorization, authorization", b"authorization"),
    ],
    ids=["as ever", "of SDKs", "of ours", "none", "twice"],
)
def test_headers_that_have_a_meaning_here_may_be_sent(asked: bytes, answered: bytes) -> None:
    fields = dict(ONE.preflight(sent(access_control_request_headers=asked)))
    assert fields[b"access-control-allow-headers"] == taken(asked) == answered
    assert fields[b"access-control-allow-methods"] == b"GET, POST, DELETE"


@pytest.mark.parametrize(
    ("headers", "is_dropped"),
    [
        pytest.param(sent(host=b"api.example"), True, id="a page that may ask brings a key"),
        pytest.param(sent(host=b"chat.example"), False, id="our own page, although it is named"),
        pytest.param(sent(b"https://other.example", host=b"api.example"), False, id="a proxy that changes the host"),
        pytest.param({b"sec-fetch-site": b"cross-site"}, True, id="the browser says so"),
        pytest.param({b"sec-fetch-site": b"same-origin"}, False, id="or that it is ours"),
        pytest.param({}, False, id="no browser"),
    ],
)
def test_a_cookie_is_not_looked_at_across_origins(headers: dict[bytes, bytes], is_dropped: bool) -> None:
    assert ONE.brings_no_cookie(headers) == is_dropped
    assert without_cookie({b"cookie": b"c", b"host": b"h"}) == {b"host": b"h"}
