"""Which hubs may be asked, where they are, with which token and through which proxy: settings and the usual variables.

HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME and HF_HUB_OFFLINE are huggingface_hub's; MODELSCOPE_ENDPOINT,
MODELSCOPE_DOMAIN and MODELSCOPE_API_TOKEN those of ModelScope's client; HTTPS_PROXY and its kin are everybody's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.confinement import Origin, named, origin_of
from gpustack_lite.settings import Settings

HUGGING_FACE = "https://huggingface.co"
MODELSCOPE = "https://modelscope.cn"
_YES = frozenset({"1", "true", "yes", "on"})
_LONGEST_TOKEN = 4096


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`url` has no slash at its end. The token is for this origin alone."""

    url: str
    token: str | None = field(default=None, repr=False)
    is_given: bool = False
    """Somebody named it: then it may be an address of the own network, and plain HTTP."""
    ask: Callable[[], str | None] | None = field(default=None, repr=False, compare=False)
    """Who knows a token where none is at hand; blocks."""

    def bearer(self) -> str | None:
        return self.token or (None if self.ask is None else self.ask())


@dataclass(frozen=True, slots=True)
class Hubs:
    """`endpoints` holds those hubs only that may be asked."""

    endpoints: Mapping[str, Endpoint]
    url_hosts: tuple[Origin, ...] = ()
    offline: bool = False
    ca_file: str | None = None
    proxy_trusted: bool = False
    """The proxy itself refuses private addresses: names need not be known here."""

    def endpoint(self, kind: str) -> Endpoint:
        """Raises:
        Refusal: `hub_not_allowed`.
        """
        if kind not in self.endpoints:
            allowed = ", ".join(sorted(self.endpoints)) or "-"
            raise Refusal("hub_not_allowed", status=403, param="source", hub=kind, allowed=allowed)
        return self.endpoints[kind]

    @property
    def trusted(self) -> frozenset[Origin]:
        given = (origin_of(each.url) for each in self.endpoints.values() if each.is_given)
        return frozenset((*self.url_hosts, *given))


def hubs_of(settings: Settings, environ: Mapping[str, str]) -> Hubs:
    """Raises:
    Refusal: `hub_address_malformed` where an endpoint or a host is none.
    """
    known = {"huggingface": _hugging_face(environ), "modelscope": _modelscope(environ)}
    return Hubs(
        endpoints={kind: known[kind] for kind in settings.hubs},
        url_hosts=tuple(named(each) for each in settings.url_hosts),
        offline=settings.offline or environ.get("HF_HUB_OFFLINE", "").strip().lower() in _YES,
        proxy_trusted=settings.proxy_trusted,
        ca_file=environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE") or None,
    )


def _hugging_face(environ: Mapping[str, str]) -> Endpoint:
    said = environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN")
    return _endpoint(environ.get("HF_ENDPOINT"), HUGGING_FACE, said or _stored_token(environ))


def _modelscope(environ: Mapping[str, str]) -> Endpoint:
    domain = environ.get("MODELSCOPE_DOMAIN")
    given = environ.get("MODELSCOPE_ENDPOINT") or domain
    return _endpoint(given, MODELSCOPE, environ.get("MODELSCOPE_API_TOKEN"))


def _endpoint(given: str | None, usual: str, token: str | None) -> Endpoint:
    url = (given or usual).strip().rstrip("/")
    url = url if "://" in url else f"https://{url}"
    origin_of(url)
    return Endpoint(url, (token or "").strip() or None, is_given=url != usual)


def _stored_token(environ: Mapping[str, str]) -> str | None:
    """Where `hf auth login` leaves it."""
    path = environ.get("HF_TOKEN_PATH")
    try:
        home = Path(environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
        with Path(path or home / "token").open(encoding="ascii") as file:
            return file.read(_LONGEST_TOKEN).strip()
    except (OSError, ValueError, RuntimeError):
        return None
