"""Who may pass: one function takes the secret from a request, whatever carries it, and one judges its owner."""

import fnmatch
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from gpustack_lite.errors import Refusal
from gpustack_lite.wire import Credential

SESSION_COOKIE = b"gpustack_lite_session"
Carrier = Literal["bearer", "x-api-key", "cookie"]
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Presented:
    secret: bytes
    carrier: Carrier


def presented(headers: Mapping[bytes, bytes]) -> Presented | None:
    """Bearer before X-API-Key before the cookie."""
    scheme, _, value = headers.get(b"authorization", b"").partition(b" ")
    if value and scheme.lower() == b"bearer" and (secret := value.strip()):
        return Presented(secret, "bearer")
    if secret := headers.get(b"x-api-key", b"").strip():
        return Presented(secret, "x-api-key")
    if secret := _cookie(headers.get(b"cookie", b"")):
        return Presented(secret, "cookie")
    return None


def _cookie(header: bytes) -> bytes:
    for pair in header.split(b";"):
        name, _, value = pair.strip().partition(b"=")
        if name == SESSION_COOKIE:
            return value.strip(b'" ')
    return b""


def digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


def same(secret: bytes, expected: bytes) -> bool:
    """In constant time."""
    return hmac.compare_digest(hashlib.sha256(secret).digest(), hashlib.sha256(expected).digest())


def admit(
    method: str,
    headers: Mapping[bytes, bytes],
    find: Callable[[str], Credential | None],
    now: Callable[[], datetime],
    scopes: frozenset[str] = frozenset({"inference"}),
) -> Credential:
    """The owner of a valid credential that holds one of `scopes`; so does a session of which no scopes are said.

    Raises:
        Refusal: 401 without a valid credential, 403 when it is not made for this.
    """
    given = presented(headers)
    if given is None:
        raise Refusal("missing_api_key", status=401)
    credential = find(digest(given.secret))
    if credential is None or credential.expires_at is not None or not credential.enabled:
        refused = why_not(credential, now())
        if refused is not None or credential is None:
            raise refused or Refusal("invalid_api_key", status=401)
    if given.carrier == "cookie" and is_forged(method, headers, credential):
        raise Refusal("csrf_token_missing", status=403)
    if not scopes.intersection(credential.scopes) and (credential.kind != "session" or credential.scopes):
        raise _lacking(credential, scopes)
    return credential


def _lacking(credential: Credential, scopes: frozenset[str]) -> Refusal:
    if credential.kind != "session":
        return Refusal("key_lacks_scope", status=403, scope=" / ".join(sorted(scopes)))
    return Refusal("viewer_only_reads" if "read" in credential.scopes else "password_change_required", status=403)


def why_not(credential: Credential | None, now: datetime) -> Refusal | None:
    """Why a credential does not hold, or holds no more."""
    if credential is None:
        return Refusal("invalid_api_key", status=401)
    if not credential.enabled:
        return Refusal("key_disabled", status=401)
    if credential.expires_at is not None and credential.expires_at <= now:
        return Refusal("expired_api_key", status=401, expired_at=credential.expires_at.isoformat())
    return None


def is_forged(method: str, headers: Mapping[bytes, bytes], credential: Credential) -> bool:
    """Whether a write came with the cookie alone, which a foreign page can make a browser send."""
    if method in _SAFE_METHODS:
        return False
    said = digest(headers.get(b"x-csrf-token", b""))
    return not hmac.compare_digest(said, credential.csrf_digest or "")


def may_use(credential: Credential, model: str, base: str | None = None) -> bool:
    """`base` is the model of which `model` is an adapter: whoever may use that may use this, unless it is denied."""
    if base is not None and model not in credential.denied and may_use(credential, base):
        return True
    return model not in credential.denied and any(_matches(pattern, model) for pattern in credential.models)


@lru_cache(maxsize=4096)
def _matches(pattern: str, model: str) -> bool:
    return pattern == "*" or fnmatch.fnmatchcase(model, pattern)
