from datetime import UTC, datetime, timedelta

import pytest

from gpustack_lite.api.credentials import Caller
from gpustack_lite.api.rights import refuse, refuse_account, refuse_key

SOON = datetime(2027, 1, 1, tzinfo=UTC)
LATER = SOON + timedelta(days=1)


def caller(
    *scopes: str, role: str = "admin", models: tuple[str, ...] = ("*",), until: datetime | None = None
) -> Caller:
    return Caller("key", 1, 1, "u", role, frozenset(scopes), models, until)


@pytest.mark.parametrize(
    ("who", "need", "code"),
    [
        (caller("read"), "read", None),
        (caller("manage"), "read", None),
        (caller("inference"), "read", "scope_missing"),
        (caller(), "read", "scope_missing"),
        (caller("inference"), "rows", None),
        (caller("read"), "rows", None),
        (caller(), "rows", "scope_missing"),
        (caller("read"), "own", "scope_missing"),
        (caller("manage", role="user"), "own", None),
        (caller("manage", role="user"), "admin", "admin_only"),
        (caller("manage"), "admin", None),
    ],
)
def test_a_need_is_met_by_scope_and_role(who: Caller, need: str, code: str | None) -> None:
    refused = refuse(who, need)  # type: ignore[arg-type]
    assert (refused.code if refused else None) == code


@pytest.mark.parametrize(
    ("maker", "scopes", "models", "until", "exceeds"),
    [
        pytest.param(caller("manage"), ["manage", "inference"], ["*"], None, None, id="an admin may grant all"),
        pytest.param(caller("manage", role="user"), ["manage"], ["*"], None, "scopes", id="a user not manage"),
        pytest.param(caller("manage", role="user"), ["inference"], ["*"], None, None, id="a user inference"),
        pytest.param(caller("inference"), ["read"], ["*"], None, "scopes", id="a scope it lacks"),
        pytest.param(caller("manage", models=("a",)), ["inference"], ["*"], None, "models", id="more models"),
        pytest.param(caller("manage", models=("a",)), ["inference"], ["b"], None, "models", id="other models"),
        pytest.param(caller("manage", models=("a", "b")), ["inference"], ["b"], None, None, id="fewer models"),
        pytest.param(caller("manage", until=SOON), ["inference"], ["*"], None, "expires_at", id="for ever"),
        pytest.param(caller("manage", until=SOON), ["inference"], ["*"], LATER, "expires_at", id="longer"),
        pytest.param(caller("manage", until=LATER), ["inference"], ["*"], SOON, None, id="shorter"),
    ],
)
def test_a_key_is_never_allowed_more_than_its_maker(
    maker: Caller, scopes: list[str], models: list[str], until: datetime | None, exceeds: str | None
) -> None:
    refused = refuse_key(maker, scopes, models, until)
    assert (refused.param if refused else None) == exceeds


@pytest.mark.parametrize(
    ("who", "is_refused"),
    [
        pytest.param(caller("manage"), False, id="a key without limits"),
        pytest.param(caller("manage", models=("a",)), True, id="some models"),
        pytest.param(caller("manage", until=SOON), True, id="some time"),
        pytest.param(Caller("session", 1, 1, "u", "admin", expires_at=SOON), False, id="a session"),
    ],
)
def test_a_limited_key_cannot_make_itself_a_password(who: Caller, is_refused: bool) -> None:
    assert (refuse_account(who) is not None) is is_refused
