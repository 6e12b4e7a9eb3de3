"""Who is asking: one place that takes the secret from a request, whatever carries it, and finds its owner."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

SESSION_COOKIE = "gpustack_lite_session"
CSRF_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
ALL_SCOPES = frozenset({"inference", "read", "manage"})
Carrier = Literal["bearer", "x-api-key", "cookie"]


@dataclass(frozen=True, slots=True)
class Presented:
    secret: str
    carrier: Carrier


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a valid credential. `id` is that of the session or the key, None for the CLI of this machine."""

    kind: Literal["session", "key", "cli"]
    id: int | None
    user_id: int
    username: str
    role: str
    scopes: frozenset[str] = ALL_SCOPES
    models: tuple[str, ...] = ("*",)
    expires_at: datetime | None = None
    csrf_digest: str | None = None
    must_change_password: bool = False
    used_at: datetime | None = None
    """When it was last used, as far as that is written down."""
    began_at: datetime | None = None

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"


def presented(headers: Mapping[str, str], cookies: Mapping[str, str]) -> Presented | None:
    """Bearer before X-API-Key before the cookie. The only function that reads a person's credential."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return Presented(value.strip(), "bearer")
    if key := headers.get("x-api-key", "").strip():
        return Presented(key, "x-api-key")
    if cookie := cookies.get(SESSION_COOKIE, "").strip():
        return Presented(cookie, "cookie")
    return None


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same(secret: str, expected: str | None) -> bool:
    """In constant time; an expectation that is missing or empty is never met."""
    return bool(expected) and hmac.compare_digest(digest(secret), digest(expected or ""))


def is_forged(method: str, carrier: Carrier, csrf_token: str | None, csrf_digest: str | None) -> bool:
    """Whether a write came with the cookie alone, which a foreign page can make a browser send."""
    if carrier != "cookie" or method in SAFE_METHODS:
        return False
    return csrf_digest is None or not hmac.compare_digest(digest(csrf_token or ""), csrf_digest)
