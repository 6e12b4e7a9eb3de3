import pytest

from gpustack_lite import sealing
from gpustack_lite.errors import Refusal
from gpustack_lite.ports import SystemRandomness
from gpustack_lite.sealing import Keyring

RANDOM = SystemRandomness()
OLD, NEW = sealing.new_key(RANDOM), sealing.new_key(RANDOM)


def ring(*texts: str) -> Keyring:
    return sealing.keyring(texts, "the test")


def test_what_was_sealed_is_opened_and_not_read_without_the_key() -> None:
    sealed = ring(OLD).seal("token", "hf_canary", RANDOM)
    assert ring(OLD).open("token", sealed) == "hf_canary"
    assert "canary" not in sealed


def test_the_same_text_is_never_sealed_twice_the_same() -> None:
    assert ring(OLD).seal("token", "x", RANDOM) != ring(OLD).seal("token", "x", RANDOM)


def test_another_key_is_named_and_an_added_one_opens() -> None:
    sealed = ring(OLD).seal("token", "hf_canary", RANDOM)
    with pytest.raises(Refusal, match="secret_key_wrong") as refused:
        ring(NEW).open("token", sealed)
    assert refused.value.params["key_id"] == ring(OLD).keys[0].id
    assert ring(NEW, OLD).open("token", sealed) == "hf_canary"
    assert sealing.key_id_of(ring(NEW, OLD).seal("token", "x", RANDOM)) == ring(NEW).keys[0].id


@pytest.mark.parametrize(
    "spoiled",
    [
        pytest.param(lambda sealed: sealed[:-4] + "AAAA", id="changed"),
        pytest.param(lambda sealed: sealed[:20], id="cut"),
        pytest.param(lambda sealed: ".".join(sealed.split(".")[:2]), id="without a body"),
        pytest.param(lambda sealed: sealed + "é", id="foreign"),
    ],
)
def test_a_damaged_value_is_told_from_a_wrong_key(spoiled: object) -> None:
    sealed = ring(OLD).seal("token", "hf_canary", RANDOM)
    with pytest.raises(Refusal, match="secret_damaged"):
        ring(OLD).open("token", spoiled(sealed))  # type: ignore[operator]


def test_a_value_does_not_open_under_another_name() -> None:
    sealed = ring(OLD).seal("huggingface_token", "hf_canary", RANDOM)
    with pytest.raises(Refusal, match="secret_damaged"):
        ring(OLD).open("oidc_client_secret", sealed)


@pytest.mark.parametrize(
    "text", ["short", "é" * 43, "A" * 44, OLD[:-1] + "!"], ids=["short", "not ascii", "too long", "not base64"]
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="secret_key_malformed"):
        ring(text)


def test_both_alphabets_of_base64_are_the_same_key() -> None:
    import base64

    raw = bytes(range(223, 255))
    standard, urlsafe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()
    assert standard != urlsafe
    assert ring(standard) == ring(urlsafe)


def test_a_key_shows_itself_to_nobody() -> None:
    assert repr(ring(OLD).keys[0].secret) not in repr(ring(OLD))
