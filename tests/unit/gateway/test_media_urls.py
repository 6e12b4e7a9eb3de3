"""Which addresses of pictures a request may hold: those of the setting, and pictures themselves."""

import json

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.media_urls import Host, check, hosts, may_name

PICTURE = "data:image/png;base64,iVBORw0KGgo="
ALLOWED = hosts(("media.test", "files.test:8443", "http://plain.test"))
ELSEWHERE = [
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:9090/",
    "http://[::1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://2852039166/",
    "http://0251.0376.0251.0376/",
    "http://0xa9fea9fe/",
    "https://media.test@evil.test/a.png",
    "https://media.test\\@evil.test/a.png",
    "https://evil.test\\.media.test/a.png",
    "https://evil.test#@media.test/",
    "https://media.test:443@evil.test/",
    "https://media.test.evil.test/a.png",
    "https://media.test:8443/a.png",
    "http://media.test/a.png",
    "https://files.test/a.png",
    "https://media.test/a b",
    "https://media.test/\ta",
    " https://media.test/a.png",
    "https://media.test/a.png\n",
    "https://med\u0456a.test/a.png",
    "file:///etc/passwd",
    "/etc/passwd",
    "FILE:///etc/passwd",
    "ftp://media.test/a",
    "gopher://media.test/a",
    "//media.test/a.png",
    "data:",
    "datax:image/png;base64,AA",
    "javascript:alert(1)",
    "",
]


def asked(part: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": [part]}]}).encode()


def part(address: str) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": address}}


@pytest.mark.parametrize("address", ELSEWHERE)
def test_an_address_elsewhere_is_refused(address: str) -> None:
    with pytest.raises(Refusal) as caught:
        check(asked(part(address)), ALLOWED)
    assert (caught.value.code, caught.value.param) == ("media_url_refused", "messages[0].content[0].image_url.url")


@pytest.mark.parametrize(
    "address",
    [
        PICTURE,
        "data:audio/wav;codecs=1;base64,AA",
        "https://media.test/a.png?size=1",
        "https://MEDIA.test:443/",
        "https://files.test:8443/a",
        "http://plain.test/a.png",
    ],
)
def test_a_picture_itself_and_a_host_of_the_setting_are_passed_on(address: str) -> None:
    check(asked(part(address)), ALLOWED)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(asked({"type": "image_url", "image_url": "http://x/"}), id="the short form of vLLM"),
        pytest.param(asked({"type": "video_url", "video_url": {"url": "http://x/"}}), id="video"),
        pytest.param(asked({"type": "audio_url", "audio_url": {"url": "http://x/"}}), id="audio"),
        pytest.param(asked({"type": "input_image", "image_url": "http://x/"}), id="responses"),
        pytest.param(asked({"type": "input_file", "file_url": "http://x/"}), id="a file of responses"),
        pytest.param(asked({"type": "image", "source": {"type": "url", "url": "http://x/"}}), id="Anthropic"),
        pytest.param(asked(part("http://x/")).replace(b"image_url", b"image\\u005furl"), id="key spelt in escapes"),
        pytest.param(asked(part("http://x/")).replace(b'"url"', b'"\\u0075rl"'), id="inner key spelt in escapes"),
        pytest.param(
            b'{"messages":[{"content":[{"image_url":{"url":"http://x/","url":"' + PICTURE.encode() + b'"}}]}]}',
            id="the first of two",
        ),
        pytest.param(
            b'{"messages":[{"content":[{"image_url":{"url":"' + PICTURE.encode() + b'","url":"http://x/"}}]}]}',
            id="the second of two",
        ),
        pytest.param(json.dumps({"input": {"image_url": "http://x/"}}).encode(), id="an embedding"),
        pytest.param(json.dumps({"documents": [{"content": [part("http://x/")]}]}).encode(), id="a document"),
    ],
)
def test_wherever_and_however_it_is_spelt(body: bytes) -> None:
    with pytest.raises(Refusal, match="media_url_refused"):
        check(body, frozenset())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"messages":[{"content":"see http://x/ and {\\"image_url\\": 1}"}]}', id="text"),
        pytest.param(
            json.dumps(
                {"tools": [{"function": {"parameters": {"properties": {"image_url": {"url": "http://x/"}}}}}]}
            ).encode(),
            id="a tool",
        ),
        pytest.param(b'{"image_url": null, "image": 1, "file_url": {}}', id="nothing"),
    ],
)
def test_what_no_engine_fetches_is_passed_on(body: bytes) -> None:
    check(body, frozenset())


@pytest.mark.parametrize("body", [b'{"image_url": ', b'{"a":' + b"[" * 100_000 + b'"_url"' + b"]" * 100_000 + b"}"])
def test_what_cannot_be_read_goes_to_no_engine(body: bytes) -> None:
    with pytest.raises(Refusal, match="body_not_json"):
        check(body, frozenset())


def test_text_alone_is_not_read() -> None:
    assert not may_name(b'{"messages":[{"content":"\\u4f60\\u597d"}]}')


def test_a_deep_body_is_read_to_its_end() -> None:
    deep = b'{"messages":' + b"[" * 900 + b'{"image_url":"http://x/"}' + b"]" * 900 + b"}"
    with pytest.raises(Refusal, match="media_url_refused"):
        check(deep, frozenset())


@pytest.mark.parametrize("said", ["media.test/path?\\", "a b", "https://u@media.test", ""])
def test_a_setting_that_names_no_host_is_refused(said: str) -> None:
    with pytest.raises(Refusal, match="bad_setting"):
        hosts((said,))


def test_the_setting_names_hosts_with_their_ports() -> None:
    assert {
        Host("https", "media.test", 443),
        Host("https", "files.test", 8443),
        Host("http", "plain.test", 80),
    } == ALLOWED
