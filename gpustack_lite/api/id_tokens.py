"""What an identity provider signed: an ID token is believed after each of these checks, and after nothing less.

OpenID Connect Core 1.0, section 3.1.3.7. Pure.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key

from gpustack_lite.errors import Refusal

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Signatures by a private key alone: neither `none`, nor a MAC, for which the published key would do as its secret."""
KINDS = frozenset({"RSA", "EC"})
SKEW_SECONDS = 120
LONGEST_SUBJECT = 255
Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """`now` is in seconds since 1970."""

    issuer: str
    client_id: str
    nonce: str
    now: float


def verified(token: str, keys: Sequence[Mapping[str, Any]], expected: Expected) -> Claims:
    """The claims.

    Raises:
        Refusal: `oidc_signature` (another may hold with newer keys), `oidc_issuer_differs`, `oidc_audience`,
            `oidc_nonce`, `oidc_clock` or `oidc_claims`.
    """
    claims = _signed(token, keys)
    if claims.get("iss") != expected.issuer:
        raise Refusal("oidc_issuer_differs", issuer=expected.issuer, said=_shown(claims.get("iss")))
    if not _is_for(claims, expected.client_id):
        raise Refusal("oidc_audience", client_id=expected.client_id, said=_shown(claims.get("aud")))
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), expected.nonce.encode()):
        raise Refusal("oidc_nonce")
    _check_times(claims, expected.now)
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
        raise Refusal("oidc_claims", name="sub")
    return claims


def _signed(token: str, keys: Sequence[Mapping[str, Any]]) -> Claims:
    for key in _imported(keys):
        try:
            return jwt.decode(token, key, algorithms=list(ALGORITHMS)).claims
        except (JoseError, ValueError):
            continue
    raise Refusal("oidc_signature")


def _imported(keys: Sequence[Mapping[str, Any]]) -> list[Key]:
    """Those that can have signed; what a provider publishes beside them is no affair of ours."""
    found = []
    for each in keys:
        if each.get("kty") not in KINDS or each.get("use", "sig") != "sig":
            continue
        try:
            found.append(JWKRegistry.import_key(dict(each)))
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    return found


def _is_for(claims: Claims, client_id: str) -> bool:
    said = claims.get("aud")
    audiences = said if isinstance(said, list) else [said]
    authorised = claims.get("azp")
    return client_id in audiences and (authorised == client_id or (authorised is None and len(audiences) == 1))


def _check_times(claims: Claims, now: float) -> None:
    for name in ("exp", "iat"):
        if isinstance(claims.get(name), bool) or not isinstance(claims.get(name), int | float):
            raise Refusal("oidc_claims", name=name)
    if claims["exp"] <= now - SKEW_SECONDS:
        raise Refusal("oidc_clock", seconds=_bounded(now - claims["exp"]))
    if max(claims["iat"], _moment(claims.get("nbf"))) > now + SKEW_SECONDS:
        raise Refusal("oidc_clock", seconds=_bounded(max(claims["iat"], _moment(claims.get("nbf"))) - now))


def _moment(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _bounded(seconds: float) -> int:
    return int(min(seconds, 10**9))


def _shown(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode()[:200]
