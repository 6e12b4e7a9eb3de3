"""Role x route: every route of the description, asked by everybody, lets in exactly those whom its rule names."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.management import PASSWORD, Api
from tests.unit.api.test_auth import RULES

LETS_IN = {
    "session of an admin": {"who", "account", "rows", "read", "own", "inference", "model", "admin"},
    "session of a user": {"who", "account", "rows", "read", "own", "inference", "model"},
    "session of a viewer": {"who", "account", "rows", "read", "own"},
    "session with a first password": {"who", "account"},
    "key of an admin: manage": {"who", "account", "rows", "read", "own", "model", "admin"},
    "key of an admin: read": {"who", "rows", "read"},
    "key of an admin: inference": {"rows", "inference"},
    "key of a user: manage": {"who", "account", "rows", "read", "own", "model"},
    "key of a user: read": {"who", "rows", "read"},
    "key of a user: inference": {"rows", "inference"},
    "key of a viewer: read": {"who", "rows", "read"},
    "key of a viewer: manage and inference, made before": set(),
    "nobody": set(),
}
"""Who is let in by which rule. Whoever is not is answered 403, and nobody 401."""
STREAMS = {("GET", "/api/v1/watch")}
"""An answer that does not end: its rule is tried in the tests of the stream."""
ENDS_THE_SESSION = {("POST", "/api/v1/auth/logout")}
NOTHING = "999999999"


async def secret_of(api: Api, who: str) -> str | None:
    if who == "nobody":
        return None
    kind, _, rest = who.partition(" ")
    if kind == "key":
        role = rest.removeprefix("of a ").removeprefix("of an ").split(":")[0]
        scopes = [each for each in ("manage", "read", "inference") if each in rest]
        return await api.key(await api.user("asks", role), *scopes)
    first = "first" in rest
    await api.user("asks", "admin" if first else rest.split()[-1], must_change_password=first)
    return str((await api.sign_in("asks", PASSWORD))["token"])


async def told(api: Api, secret: str | None) -> AsyncIterator[tuple[str, str, str, int, str]]:
    """Each closed route of people, with a reference to nothing, and what was answered."""
    async with api.client(secret) as client:
        for (method, path), rule in sorted(RULES.items()):
            if rule in {"open", "worker", "gateway"} or (method, path) in STREAMS | ENDS_THE_SESSION:
                continue
            filled = "/".join(NOTHING if "{" in part else part for part in path.split("/"))
            answer = await client.request(method, filled, json={})
            code = answer.json()["error"]["code"] if answer.status_code >= 400 else ""
            yield method, path, rule, answer.status_code, code


@pytest.mark.parametrize("who", LETS_IN)
async def test_a_rule_lets_in_whom_it_names_and_nobody_else(api: Api, who: str) -> None:
    wrong = []
    async for method, path, rule, status, code in told(api, await secret_of(api, who)):
        if rule in LETS_IN[who]:
            is_right = status not in {401, 403, 500} or code == "login_refused"
        else:
            is_right = status == (401 if who == "nobody" else 403)
        if not is_right:
            wrong.append((method, path, rule, status, code))
    assert wrong == []
