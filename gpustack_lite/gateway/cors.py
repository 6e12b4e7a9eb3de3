"""Which pages of other hosts may call the inference paths from a browser: none, unless `cors_origins` names them.

The answers follow the Fetch standard (https://fetch.spec.whatwg.org/#http-cors-protocol). Credentials in its sense,
which are cookies, are never allowed: a page brings an API key.
"""

from collections.abc import Iterable, Mapping

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import Field

Headers = Mapping[bytes, bytes]
ANY = b"*"
MOST_SECONDS = 600
"""For which a browser may keep the answer to a preflight."""
_METHODS = b"GET, POST, DELETE"
_TAKEN = frozenset(
    {
        *(b"accept", b"accept-language", b"authorization", b"content-type", b"traceparent", b"tracestate"),
        *(b"x-api-key", b"x-request-id", b"idempotency-key", b"user-agent"),
        *(b"openai-organization", b"openai-project", b"openai-beta"),
        *(b"anthropic-version", b"anthropic-beta", b"anthropic-dangerous-direct-browser-access"),
    }
)
_OF_SDKS = b"x-stainless-"
"""OpenAI's and Anthropic's libraries send a dozen of them."""
_SHOWN = (
    b"x-request-id, request-id, retry-after, x-ratelimit-limit-requests, x-ratelimit-limit-tokens, "
    b"x-ratelimit-remaining-requests, x-ratelimit-remaining-tokens, x-ratelimit-reset-requests, "
    b"x-ratelimit-reset-tokens"
)
_VARY = (b"vary", b"origin")


class Cors:
    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origin.lower().encode() for origin in origins)

    def fields(self, headers: Headers) -> list[Field]:
        """Of whatever is answered to a request that a page may make; empty for any other."""
        origin = headers.get(b"origin")
        if origin is None or not self._allows(origin):
            return []
        return [*self._allowed(origin), (b"access-control-expose-headers", _SHOWN)]

    def preflight(self, headers: Headers) -> list[Field]:
        """
        Raises:
            Refusal: 403 `cors_not_allowed`.
        """
        origin = headers.get(b"origin", b"")
        if not self._allows(origin):
            raise Refusal("cors_not_allowed", status=403, origin=origin.decode("latin-1"))
        return [
            *self._allowed(origin),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", taken(headers.get(b"access-control-request-headers", b""))),
            (b"access-control-max-age", b"%d" % MOST_SECONDS),
        ]

    def brings_no_cookie(self, headers: Headers) -> bool:
        """Whether a cookie on this request is not to be looked at, because a page of another origin sent it along."""
        if headers.get(b"sec-fetch-site") in {b"cross-site", b"same-site"}:
            return True
        origin = headers.get(b"origin")
        return origin is not None and self._allows(origin) and origin.partition(b"://")[2] != headers.get(b"host")

    def _allows(self, origin: bytes) -> bool:
        return ANY in self._origins or origin.lower() in self._origins

    def _allowed(self, origin: bytes) -> list[Field]:
        return [(b"access-control-allow-origin", ANY if ANY in self._origins else origin), _VARY]


def taken(asked: bytes) -> bytes:
    """Those of the header names that a page wants to send which have a meaning here."""
    names = [name.strip().lower() for name in asked.split(b",")]
    return b", ".join(dict.fromkeys(name for name in names if name in _TAKEN or name.startswith(_OF_SDKS)))


def without_cookie(headers: Headers) -> dict[bytes, bytes]:
    return {name: value for name, value in headers.items() if name != b"cookie"}
