"""Where a request comes from, and over what."""

from fastapi import Request

from gpustack_lite.wire import ADDRESS_HEADER, SCHEME_HEADER


def client_address(request: Request) -> str:
    """The gateway sets the header on everything it relays; who comes by the Unix socket itself is local."""
    return request.headers.get(ADDRESS_HEADER) or (request.client.host if request.client else "local")


def is_https(request: Request) -> bool:
    """Whether the browser speaks TLS, to us or to a proxy that is trusted."""
    return request.headers.get(SCHEME_HEADER) == "https"
