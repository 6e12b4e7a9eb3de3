"""Signing in through an identity provider: authorization code with PKCE, bound to the browser that began.

The browser keeps one random ticket in a cookie; state, nonce and the verifier of PKCE all follow from it, each by a
digest of its own. So nothing waits in memory, any server can finish what another began, and whoever sees the state in
an address learns neither the ticket nor the verifier.
"""

import base64
import hashlib
import hmac
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from gpustack_lite import acting
from gpustack_lite.acting import Actor
from gpustack_lite.api import accounts, failing, federating, id_tokens, secrets
from gpustack_lite.api.accounts import SignIn
from gpustack_lite.api.context import Context
from gpustack_lite.api.credentials import digest
from gpustack_lite.errors import Refusal

log = logging.getLogger(__name__)
START = "/api/v1/auth/oidc/start"
CALLBACK = "/api/v1/auth/oidc/callback"
COOKIE = "gpustack_lite_oidc"
COOKIE_SECONDS = 600
SCOPES = "openid profile email"
MOST_USED = 4096


@dataclass(frozen=True, slots=True)
class Returned:
    """What the provider's redirect brought, and the ticket of the browser that followed it."""

    ticket: str | None
    state: str | None
    code: str | None
    issuer: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Visitor:
    address: str
    agent: str | None
    request_id: str | None
    callback: str
    """Our own address as the provider knows it."""


def log_refusal(refusal: Refusal) -> None:
    """The code alone: what the provider said may hold what is secret."""
    log.warning("oidc_sign_in_refused", extra={"code": refusal.code})


def is_on(context: Context) -> bool:
    return context.settings.oidc_issuer is not None


async def begin(context: Context, callback: str) -> tuple[str, str]:
    """The ticket for the browser to keep, and where it goes.

    Raises:
        Refusal: `oidc_off`, or that the provider cannot be asked.
    """
    issuer, client_id = _configured(context)
    metadata = await context.provider.metadata(issuer, context.ports.clock)
    ticket = context.ports.randomness.token()
    challenge = base64.urlsafe_b64encode(hashlib.sha256(_verifier(ticket).encode()).digest()).decode().rstrip("=")
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": callback,
        "scope": " ".join([SCOPES, *context.settings.oidc_scopes]),
        "state": _state(ticket),
        "nonce": _nonce(ticket),
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    there = str(metadata["authorization_endpoint"])
    return ticket, f"{there}{'&' if urlsplit(there).query else '?'}{urlencode(asked)}"


async def finish(context: Context, returned: Returned, visitor: Visitor) -> SignIn:
    """Raises:
    Refusal: with one sentence for each thing that can be wrong; nothing is changed then.
    """
    issuer, _ = _configured(context)
    ticket = _own_ticket(context, returned)
    if returned.issuer is not None and returned.issuer != issuer:  # RFC 9207
        raise Refusal("oidc_issuer_differs", issuer=issuer, said=returned.issuer[:200])
    if returned.error is not None or not returned.code:
        raise Refusal("oidc_declined", status=401, said=(returned.error or "no code")[:100])
    claims = await _claims(context, ticket, returned.code, visitor.callback)
    return await _opened(context, federating.subject_of(issuer, claims["sub"]), claims, visitor)


async def _opened(context: Context, subject: str, claims: dict[str, Any], visitor: Visitor) -> SignIn:
    async with context.db.read() as session:
        found = await federating.known(session, subject)
    name = "(new)" if found is None else found.username
    acting.take_over(Actor(None if found is None else found.id, name, "session", None, *_where(visitor)))
    try:
        async with context.db.write() as session:
            user = await federating.keep(context, session, subject, claims)
            signed_in = await accounts.open_session(context, session, user, visitor.address, visitor.agent)
    except Refusal as refusal:
        if refusal.status == 403:
            await failing.note(context, None if found is None else name, *_where(visitor))
        raise
    context.signals.touch("credentials", "changes")
    await accounts.is_known(context, signed_in)
    return signed_in


def _where(visitor: Visitor) -> tuple[str, str | None]:
    return visitor.address, visitor.request_id


def _own_ticket(context: Context, returned: Returned) -> str:
    """Each is good once, whatever comes of it."""
    ticket, used = returned.ticket or "", context.used_tickets
    if not ticket or not hmac.compare_digest(_state(ticket).encode(), (returned.state or "").encode()):
        raise Refusal("oidc_state")
    if (mark := digest(ticket)) in used:
        raise Refusal("oidc_state")
    used[mark] = None
    while len(used) > MOST_USED:
        used.pop(next(iter(used)))
    return ticket


async def _claims(context: Context, ticket: str, code: str, callback: str) -> dict[str, Any]:
    issuer, client_id = _configured(context)
    provider, clock = context.provider, context.ports.clock
    metadata = await provider.metadata(issuer, clock)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": callback}
    tokens = await provider.tokens(
        metadata, form | {"code_verifier": _verifier(ticket)}, client_id, await _secret(context)
    )
    token = tokens.get("id_token")
    if not isinstance(token, str):
        raise Refusal("oidc_claims", name="id_token")
    expected = id_tokens.Expected(issuer, client_id, _nonce(ticket), clock.wall().timestamp())
    keys = await provider.keys(metadata, clock)
    try:
        claims = id_tokens.verified(token, keys, expected)
    except Refusal as refusal:
        fresh = await provider.keys(metadata, clock, anew=True)
        if refusal.code != "oidc_signature" or fresh is keys:
            raise
        claims = id_tokens.verified(token, fresh, expected)
    return await _completed(context, dict(claims), metadata, tokens)


async def _completed(context: Context, claims: dict[str, Any], metadata: Any, tokens: Any) -> dict[str, Any]:
    """Many providers say names and groups in the user info alone; the ID token wins where both say something."""
    wanted = {context.settings.oidc_groups_claim, context.settings.oidc_name_claim}
    access = tokens.get("access_token")
    if wanted <= claims.keys() or "userinfo_endpoint" not in metadata or not isinstance(access, str):
        return claims
    told = await context.provider.userinfo(metadata, access)
    if told.get("sub") != claims["sub"]:  # section 5.3.2: it may have been put in the place of another's
        raise Refusal("oidc_claims", name="sub")
    return {**{name: told[name] for name in wanted & told.keys()}, **claims}


async def _secret(context: Context) -> str | None:
    given = context.settings.oidc_client_secret
    if given is not None:
        return given.get_secret_value()
    async with context.db.read() as session:
        return await secrets.secret(context, session, secrets.OIDC_CLIENT_SECRET)


def _configured(context: Context) -> tuple[str, str]:
    settings = context.settings
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        raise Refusal("oidc_off")
    return settings.oidc_issuer, settings.oidc_client_id


def _state(ticket: str) -> str:
    return digest(f"state:{ticket}")


def _nonce(ticket: str) -> str:
    return digest(f"nonce:{ticket}")


def _verifier(ticket: str) -> str:
    return digest(f"verifier:{ticket}")
