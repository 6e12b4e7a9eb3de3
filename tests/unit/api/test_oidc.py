"""Signing in through an identity provider, and everything that a hostile one, or somebody between, tries."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlmodel import select

from gpustack_lite.db.queries import groups, users
from gpustack_lite.db.tables import AuditRow, Group, GroupMember, LoginSession, User
from gpustack_lite.errors import Refusal
from gpustack_lite.settings import load
from tests.fakes import identity
from tests.fakes.identity import CLIENT, ISSUER, OTHER_KEY, SECRET, Provider
from tests.fakes.management import PASSWORD, Api, running

START, CALLBACK = "/api/v1/auth/oidc/start", "/api/v1/auth/oidc/callback"
MAPPED: dict[str, Any] = {
    "oidc_roles": {"operators": "admin", "guests": "viewer"},
    "oidc_groups": {"research": "nlp"},
    "trusted_proxies": (),
}


@pytest.fixture
def given() -> dict[str, Any]:
    return {}


@pytest.fixture
async def api(tmp_path: Path, template: Path, given: dict[str, Any]) -> AsyncIterator[Api]:
    settings = {"oidc_issuer": ISSUER, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET} | given
    async with running(tmp_path, template, **settings) as each:
        yield each


@pytest.fixture
def provider(api: Api) -> Provider:
    made = Provider(now=lambda: api.clock.wall().timestamp())
    api.context.provider.transport = made.transport()
    return made


async def sign_in(api: Api, provider: Provider, browser: httpx.AsyncClient | None = None) -> httpx.Response:
    async with api.client() as fresh:
        there = browser or fresh
        started = await there.get(START)
        assert started.status_code == 303, started.text
        return await there.get(f"{CALLBACK}?{provider.consent(started.headers['location'])}")


async def found(api: Api, row: Any) -> list[Any]:
    async with api.context.db.read() as session:
        return list(await session.exec(select(row)))


async def test_a_first_sign_in_makes_an_account_and_a_session_of_its_own(api: Api, provider: Provider) -> None:
    async with api.client() as browser:
        answer = await sign_in(api, provider, browser)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        me = (await browser.get("/api/v1/auth/me")).json()
    assert (me["username"], me["role"], me["source"]) == ("ada", "user", "oidc")
    assert not me["must_change_password"]
    session_cookie, ticket_cookie = answer.headers.get_list("set-cookie")
    assert "HttpOnly" in session_cookie
    assert "SameSite=strict" in session_cookie
    assert "Max-Age=0" in ticket_cookie


async def test_the_second_sign_in_finds_the_account_by_its_subject_whatever_it_is_called(
    api: Api, provider: Provider
) -> None:
    await sign_in(api, provider)
    provider.person = {"sub": "7", "preferred_username": "renamed", "email": "admin@example.com"}
    await sign_in(api, provider)
    assert [each.username for each in await found(api, User)] == ["ada"]
    assert len(await found(api, LoginSession)) == 2


async def test_an_account_here_is_never_taken_over_by_its_name(api: Api, provider: Provider) -> None:
    local = await api.user("ada", "admin")
    await sign_in(api, provider)
    mine, theirs = sorted(await found(api, User), key=lambda each: each.id)
    assert (mine.id, mine.source, mine.role) == (local.id, "local", "admin")
    assert theirs.username.startswith("ada-")
    assert theirs.role == "user"


@pytest.mark.parametrize("name", ["", "me", "123", "../x y", "名字 with spaces", "x" * 90, "\u202eada", 7])
async def test_whatever_somebody_is_called_there_it_gets_a_name_here(api: Api, provider: Provider, name: Any) -> None:
    provider.person["preferred_username"] = name
    assert (await sign_in(api, provider)).status_code == 303


async def test_a_deactivated_account_stays_out(api: Api, provider: Provider) -> None:
    await sign_in(api, provider)
    async with api.context.db.write() as session:
        user = await users.by_ref(session, "ada")
        user.active = False
        session.add(user)
    answer = await sign_in(api, provider)
    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_inactive")
    assert "gpustack_lite_session" not in str(answer.headers)
    assert "sign_in_failed" in [each.action for each in await found(api, AuditRow)]


@pytest.mark.parametrize("given", [MAPPED | {"oidc_default_role": "none"}])
async def test_groups_give_roles_and_memberships_and_take_them_again(api: Api, provider: Provider) -> None:
    async with api.context.db.write() as session:
        await groups.record_put(session, Group(name="own", created_at=api.clock.wall()), api.clock)
    await api.user("root", "admin")
    provider.person["groups"] = ["operators", "research", "unknown"]
    await sign_in(api, provider)
    ada = next(each for each in await found(api, User) if each.username == "ada")
    assert ada.role == "admin"
    await api.add(GroupMember(group_id=1, user_id=ada.id))
    provider.person["groups"] = "guests"
    await sign_in(api, provider)
    assert next(each.role for each in await found(api, User) if each.username == "ada") == "viewer"
    assert [(each.group_id, each.source) for each in await found(api, GroupMember)] == [(1, "local")]
    del provider.person["groups"]
    assert (await sign_in(api, provider)).headers["x-error-code"] == "oidc_no_role"


@pytest.mark.parametrize("given", [MAPPED])
async def test_groups_that_the_user_info_alone_tells_count(api: Api, provider: Provider) -> None:
    provider.userinfo = {"sub": "7", "groups": ["operators"]}
    await sign_in(api, provider)
    assert [each.role for each in await found(api, User)] == ["admin"]


@pytest.mark.parametrize("given", [MAPPED])
async def test_the_user_info_of_somebody_else_is_refused(api: Api, provider: Provider) -> None:
    provider.userinfo = {"sub": "8", "groups": ["operators"]}
    assert (await sign_in(api, provider)).headers["x-error-code"] == "oidc_claims"
    assert await found(api, User) == []


def changed(**values: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda claims: {name: value for name, value in {**claims, **values}.items() if value is not None}


LATER = 10**6
HOSTILE = [
    pytest.param({"spoilt": changed(nonce="another")}, "oidc_nonce", id="the nonce of another attempt"),
    pytest.param({"spoilt": changed(nonce=None)}, "oidc_nonce", id="no nonce"),
    pytest.param({"signed": identity.unsigned}, "oidc_signature", id="alg none"),
    pytest.param({"signed": identity.confused}, "oidc_signature", id="the public key as the secret of a MAC"),
    pytest.param({"signed": lambda claims: identity.sign(claims, OTHER_KEY)}, "oidc_signature", id="another key"),
    pytest.param(
        {"signed": lambda claims: identity.sign(claims, OTHER_KEY, kid="one")}, "oidc_signature", id="a borrowed id"
    ),
    pytest.param({"signed": lambda _: "not.a.token"}, "oidc_signature", id="no token"),
    pytest.param({"spoilt": changed(iss="https://evil.example")}, "oidc_issuer_differs", id="another issuer"),
    pytest.param({"spoilt": changed(iss=ISSUER + "/")}, "oidc_issuer_differs", id="nearly the issuer"),
    pytest.param({"spoilt": changed(aud="other")}, "oidc_audience", id="for another client"),
    pytest.param({"spoilt": changed(aud=[CLIENT, "other"])}, "oidc_audience", id="for several, of no party"),
    pytest.param({"spoilt": changed(aud=[CLIENT, "x"], azp="x")}, "oidc_audience", id="made for another party"),
    pytest.param({"spoilt": changed(exp=1)}, "oidc_clock", id="over"),
    pytest.param({"spoilt": changed(exp=None)}, "oidc_claims", id="without an end"),
    pytest.param({"spoilt": changed(exp="never")}, "oidc_claims", id="an end that is no number"),
    pytest.param({"spoilt": changed(iat=10**11)}, "oidc_clock", id="from the future"),
    pytest.param({"spoilt": changed(sub=None)}, "oidc_claims", id="nobody"),
    pytest.param({"spoilt": changed(sub=7)}, "oidc_claims", id="a subject that is no text"),
    pytest.param({"spoilt": changed(sub="x" * 300)}, "oidc_claims", id="an endless subject"),
]


@pytest.mark.parametrize(("wrong", "code"), HOSTILE)
async def test_what_is_wrong_lets_nobody_in_and_is_said_in_one_sentence(
    api: Api, provider: Provider, wrong: dict[str, Any], code: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in wrong.items():
        setattr(provider, name, value)
    answer = await sign_in(api, provider)
    assert answer.headers["x-error-code"] == code
    assert answer.text.count("<p>") == 2
    assert await found(api, User) == await found(api, LoginSession) == []
    assert "code-0" not in caplog.text + answer.text
    assert "opaque" not in caplog.text + answer.text


async def test_a_callback_without_the_browser_that_began_is_refused(api: Api, provider: Provider) -> None:
    async with api.client() as attacker, api.client() as victim:
        query = provider.consent((await attacker.get(START)).headers["location"])
        await victim.get(START)
        for browser in (victim, api.client()):
            answer = await browser.get(f"{CALLBACK}?{query}")
            assert (answer.status_code, answer.headers["x-error-code"]) == (400, "oidc_state")
    assert await found(api, LoginSession) == []


async def test_a_callback_that_is_replayed_is_refused_also_with_its_cookie(api: Api, provider: Provider) -> None:
    async with api.client() as browser:
        started = await browser.get(START)
        cookie = {"cookie": started.headers["set-cookie"].partition(";")[0]}
        query = provider.consent(started.headers["location"])
        assert (await browser.get(f"{CALLBACK}?{query}", headers=cookie)).status_code == 303
    async with api.client(None, **cookie) as again:
        assert (await again.get(f"{CALLBACK}?{query}")).headers["x-error-code"] == "oidc_state"


async def test_the_code_of_another_provider_is_not_sent_to_ours(api: Api, provider: Provider) -> None:
    async with api.client() as browser:
        query = provider.consent((await browser.get(START)).headers["location"])
        answer = await browser.get(f"{CALLBACK}?{query}&iss=https%3A%2F%2Fevil.example")
    assert answer.headers["x-error-code"] == "oidc_issuer_differs"
    assert "POST /token" not in provider.asked


@pytest.mark.parametrize("given", [{"base_path": "/ai"}])
async def test_the_way_leads_to_our_own_callback_and_console_and_nowhere_else(api: Api, provider: Provider) -> None:
    async with api.client(None, **{"x-gpustack-scheme": "https"}) as browser:
        started = await browser.get(f"{START}?redirect_uri=https://evil.example&next=//evil.example")
        asked = httpx.URL(started.headers["location"]).params
        assert asked["redirect_uri"] == f"https://localhost/ai{CALLBACK}"
        cookie = started.headers["set-cookie"]
        assert all(part in cookie for part in ("Secure", "HttpOnly", "SameSite=lax", "Path=/ai/"))
        query, kept = provider.consent(started.headers["location"]), cookie.partition(";")[0]
        back = await browser.get(f"{CALLBACK}?{query}&next=//evil.example", headers={"cookie": kept})
    assert (back.status_code, back.headers["location"]) == (303, "/ai/")


async def test_the_host_of_a_callback_must_be_ours(api: Api, provider: Provider) -> None:
    async with api.client(None, host="evil.example") as browser:
        assert (await browser.get(START)).status_code == 421


async def test_a_new_key_of_the_provider_is_asked_for_once(api: Api, provider: Provider) -> None:
    await sign_in(api, provider)
    api.clock.advance(60)
    provider.keys, provider.signed = [OTHER_KEY], lambda claims: identity.sign(claims, OTHER_KEY)
    assert (await sign_in(api, provider)).status_code == 303
    provider.signed = identity.unsigned
    for _ in range(3):
        await sign_in(api, provider)
    assert provider.asked.count("GET /keys") == 2


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"issuer": "https://other.example"}, "oidc_issuer_differs"),
        ({"token_endpoint": "http://id.example.com/token"}, "oidc_answer"),
        ({"jwks_uri": "file:///etc/passwd"}, "oidc_answer"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "oidc_answer"),
    ],
)
async def test_a_provider_that_describes_itself_wrongly_is_not_used(
    api: Api, provider: Provider, metadata: dict[str, str], code: str
) -> None:
    provider.metadata = metadata
    async with api.client() as browser:
        assert (await browser.get(START)).headers["x-error-code"] == code


async def test_a_provider_that_is_away_is_named(api: Api, provider: Provider) -> None:
    provider.is_down = True
    async with api.client() as browser:
        answer = await browser.get(START, headers={"accept-language": "zh"})
    assert answer.status_code == 502
    assert "身份提供方 id.example.com 没有应答" in answer.text


async def test_what_the_provider_says_is_shown_as_text(api: Api, provider: Provider) -> None:
    async with api.client() as browser:
        started = await browser.get(START)
        state = httpx.URL(started.headers["location"]).params["state"]
        answer = await browser.get(CALLBACK, params={"state": state, "error": "<script>alert(1)</script>"})
    assert answer.status_code == 401
    assert "<script>" not in answer.text


@pytest.mark.parametrize("given", [{"oidc_client_secret": "another"}])
async def test_a_wrong_secret_says_what_to_look_at(api: Api, provider: Provider) -> None:
    answer = await sign_in(api, provider)
    assert answer.headers["x-error-code"] == "oidc_code_refused"
    assert "invalid_client" in answer.text


@pytest.mark.parametrize("given", [{"local_login": False}])
async def test_passwords_can_be_switched_off(api: Api, provider: Provider) -> None:
    await api.user()
    async with api.client() as client:
        offered = (await client.get("/api/v1/auth/methods")).json()
        answer = await client.post("/api/v1/auth/login", json={"username": "admin", "password": PASSWORD})
        assert offered == {"password": False, "oidc": True}
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "local_login_off")
    async with api.client("cli-token") as host:
        assert (await host.get("/api/v1/users")).status_code == 200


async def test_an_account_of_the_provider_has_no_password_here(api: Api, provider: Provider) -> None:
    async with api.client() as browser:
        await sign_in(api, provider, browser)
        for password in ("", "!"):
            login = {"username": "ada", "password": password}
            assert (await browser.post("/api/v1/auth/login", json=login)).status_code in {401, 422}
        token = (await browser.get("/api/v1/auth/me")).json()["csrf_token"]
        body = {"current": "!", "new": "a new password"}
        answer = await browser.post("/api/v1/auth/password", json=body, headers={"x-csrf-token": token})
    assert answer.json()["error"]["code"] == "password_elsewhere"


async def test_the_audit_log_says_who_came_from_where(api: Api, provider: Provider) -> None:
    await sign_in(api, provider)
    await sign_in(api, provider)
    rows = [(each.action, each.kind, each.actor) for each in await found(api, AuditRow)]
    assert rows.count(("create", "user", "(new)")) == 1
    assert rows[-1] == ("sign_in", "session", "ada")


@pytest.mark.parametrize(
    "wrong",
    [
        {"oidc_issuer": "http://id.example.com", "oidc_client_id": "x"},
        {"oidc_issuer": "https://user:word@id.example.com", "oidc_client_id": "x"},
        {"oidc_issuer": "https://id.example.com"},
        {"local_login": False},
    ],
)
def test_settings_that_could_let_nobody_in_or_in_the_clear_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="bad_setting"):
        load(**wrong)
