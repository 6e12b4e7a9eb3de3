"""An identity provider that misbehaves where it is told to: written from OpenID Connect Core 1.0, RFC 7636, RFC 9207.

It refuses what a real one refuses: a code twice, another verifier, another redirect address, a wrong secret.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import RSAKey

ISSUER = "https://id.example.com/realm"
CLIENT = "gpustack"
SECRET = "a/secret of the client"
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
OTHER_KEY = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
Claims = dict[str, Any]


def as_it_is(claims: Claims) -> Claims:
    return claims


@dataclass
class Provider:
    """`now` in seconds since 1970. `spoilt` changes the claims before `signed` makes a token of them."""

    now: Callable[[], float]
    person: Claims = field(default_factory=lambda: {"sub": "7", "preferred_username": "ada"})
    metadata: Claims = field(default_factory=dict)
    userinfo: Claims = field(default_factory=dict)
    keys: list[RSAKey] = field(default_factory=lambda: [KEY])
    spoilt: Callable[[Claims], Claims] = as_it_is
    signed: Callable[[Claims], str] = field(default=lambda claims: sign(claims, KEY))
    is_down: bool = False
    asked: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.answer)

    def consent(self, address: str) -> str:
        """What a browser brings back after its owner said yes at `address`: the query of the redirect."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = f"code-{len(self._codes)}"
        self._codes[code] = asked
        return str(httpx.QueryParams({"code": code, "state": asked["state"]}))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url.path}")
        if self.is_down:
            raise httpx.ConnectError("refused")
        match request.url.path:
            case "/realm/.well-known/openid-configuration":
                return httpx.Response(200, json=self._described())
            case "/keys":
                return httpx.Response(200, json={"keys": [key.as_dict(private=False) for key in self.keys]})
            case "/token":
                return self._exchanged(request)
            case "/userinfo":
                return httpx.Response(200, json=self.userinfo)
        return httpx.Response(404)

    def _described(self) -> Claims:
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        paths |= {"userinfo_endpoint": "userinfo"} if self.userinfo else {}
        said = {name: f"https://id.example.com/{path}" for name, path in paths.items()}
        return {"issuer": ISSUER, **said, **self.metadata}

    def _exchanged(self, request: httpx.Request) -> httpx.Response:
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        scheme, _, both = request.headers.get("authorization", "").partition(" ")
        name, _, secret = base64.b64decode(both).decode().partition(":")
        if (scheme, unquote_plus(name), unquote_plus(secret)) != ("Basic", CLIENT, SECRET):
            return httpx.Response(401, json={"error": "invalid_client"})
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None or form["redirect_uri"] != asked["redirect_uri"]:
            return httpx.Response(400, json={"error": "invalid_grant"})
        proof = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(proof).decode().rstrip("=") != asked["code_challenge"]:
            return httpx.Response(400, json={"error": "invalid_grant"})
        times = {"iat": int(self.now()), "exp": int(self.now()) + 300}
        claims = {"iss": ISSUER, "aud": CLIENT, "nonce": asked["nonce"], **times, **self.person}
        return httpx.Response(200, json={"access_token": "opaque", "id_token": self.signed(self.spoilt(claims))})


def sign(claims: Claims, key: RSAKey, **header: str) -> str:
    return jwt.encode({"alg": "RS256", "kid": str(key.kid), **header}, claims, key)


def unsigned(claims: Claims) -> str:
    return f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}."


def confused(claims: Claims) -> str:
    """Signed with the public key as though it were the secret of a MAC."""
    signed = f"{_part({'alg': 'HS256', 'kid': 'one'})}.{_part(claims)}"
    mac = hmac.digest(KEY.as_pem(private=False), signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def _part(value: Claims) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
