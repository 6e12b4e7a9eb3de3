import pytest

from gpustack_lite.api.credentials import Presented, digest, is_forged, presented, same


@pytest.mark.parametrize(
    ("headers", "cookies", "shown"),
    [
        pytest.param({"authorization": "Bearer a"}, {}, Presented("a", "bearer"), id="bearer"),
        pytest.param({"x-api-key": " a "}, {}, Presented("a", "x-api-key"), id="x-api-key"),
        pytest.param({}, {"gpustack_lite_session": "a"}, Presented("a", "cookie"), id="cookie"),
        pytest.param(
            {"authorization": "Bearer a", "x-api-key": "b"},
            {"gpustack_lite_session": "c"},
            Presented("a", "bearer"),
            id="bearer wins",
        ),
        pytest.param(
            {"x-api-key": "b"}, {"gpustack_lite_session": "c"}, Presented("b", "x-api-key"), id="then the key"
        ),
        pytest.param({"authorization": "Basic a"}, {}, None, id="another scheme is none"),
        pytest.param({"authorization": "Bearer "}, {"other": "c"}, None, id="empty is none"),
    ],
)
def test_one_credential_is_taken_from_a_request(
    headers: dict[str, str], cookies: dict[str, str], shown: Presented | None
) -> None:
    assert presented(headers, cookies) == shown


@pytest.mark.parametrize("expected", [None, ""], ids=["missing", "empty"])
def test_an_expectation_that_is_not_there_is_never_met(expected: str | None) -> None:
    assert not same("", expected)
    assert not same("a", expected)


@pytest.mark.parametrize(
    ("method", "carrier", "token", "forged"),
    [
        ("POST", "cookie", None, True),
        ("POST", "cookie", "wrong", True),
        ("POST", "cookie", "right", False),
        ("DELETE", "cookie", None, True),
        ("GET", "cookie", None, False),
        ("POST", "bearer", None, False),
        ("POST", "x-api-key", None, False),
    ],
)
def test_only_a_write_with_the_cookie_alone_is_forged(
    method: str, carrier: str, token: str | None, forged: bool
) -> None:
    assert is_forged(method, carrier, token, digest("right")) is forged  # type: ignore[arg-type]


def test_a_session_without_a_csrf_digest_writes_nothing_by_cookie() -> None:
    assert is_forged("POST", "cookie", "", None)
