"""The provider, asked over HTTP: what it says of itself, its keys, and tokens for a code.

The administrator names the issuer; every other address is what that says, with TLS unless the issuer is on loopback.
No redirect is followed, nothing above a mebibyte is read, and neither a code nor a token stands in a log.
"""

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlsplit

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Clock

if TYPE_CHECKING:
    from gpustack_lite.httpx_alone import httpx

WELL_KNOWN = "/.well-known/openid-configuration"
KEPT_SECONDS = 3600.0
KEYS_ANEW_SECONDS = 30.0
"""Keys are asked for again for a token that none of them signed, but not more often than this."""
TIMEOUT_SECONDS = 10.0
MOST_BYTES = 1024**2
AT_ONCE = 8
Document = Mapping[str, Any]


@dataclass(slots=True)
class IdentityProvider:
    """Keeps what it was told for an hour."""

    transport: "httpx.AsyncBaseTransport | None" = None
    _metadata: tuple[str, float, Document] | None = None
    _keys: tuple[str, float, Sequence[Document]] | None = None
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def metadata(self, issuer: str, clock: Clock) -> Document:
        """Raises:
        Refusal: `oidc_unreachable`, `oidc_answer` or `oidc_issuer_differs`.
        """
        kept = self._metadata
        if kept is not None and kept[0] == issuer and clock.monotonic() - kept[1] < KEPT_SECONDS:
            return kept[2]
        told = await self._asked("GET", issuer.rstrip("/") + WELL_KNOWN)
        if told.get("issuer") != issuer:
            raise Refusal("oidc_issuer_differs", status=502, issuer=issuer, said=str(told.get("issuer"))[:200])
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _check_endpoint(told, name, issuer)
        if told.get("userinfo_endpoint") is not None:
            _check_endpoint(told, "userinfo_endpoint", issuer)
        self._metadata = issuer, clock.monotonic(), told
        return told

    async def keys(self, metadata: Document, clock: Clock, *, anew: bool = False) -> Sequence[Document]:
        """The same value as before where it is not asked for again."""
        kept, now, url = self._keys, clock.monotonic(), str(metadata["jwks_uri"])
        if kept is not None and kept[0] == url and now - kept[1] < (KEYS_ANEW_SECONDS if anew else KEPT_SECONDS):
            return kept[2]
        told = (await self._asked("GET", url)).get("keys")
        if not isinstance(told, list):
            raise Refusal("oidc_answer", status=502, host=_host(url))
        self._keys = url, now, [each for each in told if isinstance(each, dict)]
        return self._keys[2]

    async def tokens(self, metadata: Document, form: Mapping[str, str], client_id: str, secret: str | None) -> Document:
        """In exchange for a code.

        Raises:
            Refusal: `oidc_unreachable`, `oidc_answer`, or `oidc_code_refused` with the provider's own word.
        """
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        sent, headers = dict(form), {}
        if secret is not None and "client_secret_basic" in methods:
            both = f"{quote_plus(client_id)}:{quote_plus(secret)}"
            headers["authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        else:
            sent |= {"client_id": client_id} | ({} if secret is None else {"client_secret": secret})
        return await self._asked("POST", str(metadata["token_endpoint"]), form=sent, headers=headers)

    async def userinfo(self, metadata: Document, access_token: str) -> Document:
        headers = {"authorization": f"Bearer {access_token}"}
        return await self._asked("GET", str(metadata["userinfo_endpoint"]), headers=headers)

    async def _asked(
        self, method: str, url: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Document:
        from gpustack_lite.httpx_alone import httpx

        async with self._turns:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    status, content = await self._sent(method, url, form, headers)
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
                raise Refusal("oidc_unreachable", status=502, host=_host(url), why=type(error).__name__) from error
        try:
            told = json.loads(content)
        except (ValueError, RecursionError):
            told = None
        if 400 <= status < 500 and form is not None and isinstance(told, dict):
            raise Refusal("oidc_code_refused", said=str(told.get("error"))[:100])
        if status != 200 or not isinstance(told, dict):
            raise Refusal("oidc_answer", status=502, host=_host(url))
        return told

    async def _sent(
        self, method: str, url: str, form: Mapping[str, str] | None, headers: Mapping[str, str] | None
    ) -> tuple[int, bytes]:
        from gpustack_lite.httpx_alone import httpx

        sent = {"accept": "application/json", **(headers or {})}
        async with (
            httpx.AsyncClient(transport=self.transport, timeout=TIMEOUT_SECONDS, follow_redirects=False) as client,
            client.stream(method, url, data=None if form is None else dict(form), headers=sent) as answer,
        ):
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > MOST_BYTES:
                    raise Refusal("oidc_answer", status=502, host=_host(url))
            return answer.status_code, bytes(content)


def _check_endpoint(told: Document, name: str, issuer: str) -> None:
    url = told.get(name)
    parts = urlsplit(url) if isinstance(url, str) else None
    allowed = {"https", urlsplit(issuer).scheme}
    if parts is None or parts.scheme not in allowed or not parts.netloc or parts.fragment or parts.username:
        raise Refusal("oidc_answer", status=502, host=_host(issuer))


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2][:200]
