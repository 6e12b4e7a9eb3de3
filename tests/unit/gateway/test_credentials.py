from datetime import UTC, datetime, timedelta

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.credentials import admit, digest, may_use, presented
from gpustack_lite.wire import Credential

NOW = datetime(2026, 11, 30, tzinfo=UTC)
BEARER = {b"authorization": b"Bearer secret"}
X_API_KEY = {b"x-api-key": b"secret"}
COOKIE = {b"cookie": b"gpustack_lite_session=secret", b"x-csrf-token": b"csrf"}
CARRIERS = [
    pytest.param(BEARER, id="bearer"),
    pytest.param(X_API_KEY, id="x-api-key"),
    pytest.param(COOKIE, id="cookie"),
]


def key(**fields: object) -> Credential:
    given = {"kind": "key", "id": 1, "user_id": 1, "user": "ada", "role": "user", "scopes": ("inference",), **fields}
    return Credential(digest=digest(b"secret"), csrf_digest=digest(b"csrf"), **given)


def ask(headers: dict[bytes, bytes], credential: Credential | None, method: str = "POST") -> Credential:
    known = {} if credential is None else {credential.digest: credential}
    return admit(method, headers, known.get, lambda: NOW)


def code(headers: dict[bytes, bytes], credential: Credential | None, method: str = "POST") -> str:
    with pytest.raises(Refusal) as refused:
        ask(headers, credential, method)
    return f"{refused.value.status} {refused.value.code}"


@pytest.mark.parametrize("headers", CARRIERS)
@pytest.mark.parametrize(
    ("credential", "result"),
    [
        pytest.param(None, "401 invalid_api_key", id="unknown"),
        pytest.param(key(expires_at=NOW), "401 expired_api_key", id="expired this moment"),
        pytest.param(key(scopes=("read", "manage")), "403 key_lacks_scope", id="no inference scope"),
    ],
)
def test_a_rule_holds_whatever_carries_the_key(
    headers: dict[bytes, bytes], credential: Credential | None, result: str
) -> None:
    assert code(headers, credential) == result


@pytest.mark.parametrize("headers", CARRIERS)
def test_a_good_key_passes_by_every_carrier(headers: dict[bytes, bytes]) -> None:
    good = key(expires_at=NOW + timedelta(seconds=1))
    assert ask(headers, good) is good


def test_a_session_holds_every_scope() -> None:
    assert ask(BEARER, key(kind="session", scopes=()))


@pytest.mark.parametrize("token", [None, b"", b"wrong"])
def test_a_write_with_the_cookie_needs_the_csrf_token(token: bytes | None) -> None:
    headers = {b"cookie": COOKIE[b"cookie"]} | ({} if token is None else {b"x-csrf-token": token})
    assert code(headers, key(kind="session")) == "403 csrf_token_missing"
    assert ask(headers, key(kind="session"), method="GET")


def test_a_session_without_a_csrf_digest_cannot_write_by_cookie() -> None:
    assert code(COOKIE, key(kind="session").model_copy(update={"csrf_digest": None})) == "403 csrf_token_missing"


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        pytest.param({b"authorization": b"bearer  a b "}, b"a b", id="any case, spaces around"),
        pytest.param({b"authorization": b"Basic eDp5", b"x-api-key": b"k"}, b"k", id="another scheme is passed over"),
        pytest.param({b"authorization": b"Bearer ", b"x-api-key": b"k"}, b"k", id="an empty bearer is passed over"),
        pytest.param({**BEARER, **X_API_KEY, b"x-api-key": b"k"}, b"secret", id="bearer first"),
        pytest.param({b"cookie": b'a=b; gpustack_lite_session="s"; c=d'}, b"s", id="one cookie of several"),
        pytest.param({b"cookie": b"xgpustack_lite_session=s"}, None, id="a cookie of another name"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_one_secret_is_taken_from_a_request(headers: dict[bytes, bytes], secret: bytes | None) -> None:
    found = presented(headers)
    assert (found.secret if found else None) == secret


def test_without_any_credential_the_sentence_says_how_to_send_one() -> None:
    assert code({}, None) == "401 missing_api_key"


@pytest.mark.parametrize(
    ("patterns", "model", "is_allowed"),
    [
        pytest.param(("*",), "any/thing", True, id="everything"),
        pytest.param(("org/*",), "org/tiny", True, id="a folder"),
        pytest.param(("org/*",), "other/tiny", False, id="another folder"),
        pytest.param(("a", "b"), "b", True, id="one of several"),
        pytest.param(("Qwen",), "qwen", False, id="case counts"),
        pytest.param((), "a", False, id="nothing"),
    ],
)
def test_models_are_allowed_by_pattern(patterns: tuple[str, ...], model: str, is_allowed: bool) -> None:
    assert may_use(key(models=patterns), model) == is_allowed


def test_a_name_that_is_denied_is_not_allowed_by_any_pattern() -> None:
    assert not may_use(key(models=("*",), denied=("secret",)), "secret")
    assert may_use(key(models=("*",), denied=("secret",)), "open")
