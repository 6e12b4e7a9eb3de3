"""The certificate that the public door shows, and its renewal while connections live."""

import asyncio
import logging
import ssl
from dataclasses import dataclass
from pathlib import Path

from gpustack_lite.errors import Refusal
from gpustack_lite.settings import Settings

log = logging.getLogger(__name__)
DEFAULT_PORT = 9443
LOOK_SECONDS = 2.0
"""How often the files are looked at for a renewal."""


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM files: the certificate with its chain, and its private key without a passphrase."""

    certificate: Path
    key: Path


def configured(settings: Settings) -> Pair | None:
    """None without TLS.

    Raises:
        Refusal: `tls_half` when one of certificate and key is missing, also where only a port is named.
    """
    if settings.tls_cert is None and settings.tls_key is None and settings.tls_port is None:
        return None
    if settings.tls_cert is None or settings.tls_key is None:
        raise Refusal("tls_half", option="--tls-cert" if settings.tls_cert is None else "--tls-key")
    return Pair(settings.tls_cert, settings.tls_key)


def load(pair: Pair) -> ssl.SSLContext:
    """A server's context: TLS 1.2 or newer, HTTP/1.1.

    Raises:
        Refusal: `tls_unreadable` or `tls_unfit`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _fill(context, pair)
    return context


def _fill(context: ssl.SSLContext, pair: Pair) -> None:
    try:
        context.load_cert_chain(pair.certificate, pair.key, password=_no_passphrase)
    except ssl.SSLError as error:
        raise Refusal("tls_unfit", certificate=str(pair.certificate), key=str(pair.key), why=_words(error)) from error
    except OSError as error:
        raise Refusal("tls_unreadable", path=_unreadable(pair), why=error.strerror or str(error)) from error


def _no_passphrase() -> str:
    """Nobody is there to type one: without an answer OpenSSL would ask the terminal."""
    return ""


def _words(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()


def _unreadable(pair: Pair) -> str:
    return str(pair.key if pair.certificate.is_file() else pair.certificate)


def _stamp(pair: Pair) -> tuple[int, ...]:
    """Changes when one of the files is written or replaced; a file that is missing for a moment is a change too."""
    stamps: list[int] = []
    for path in (pair.certificate, pair.key):
        try:
            found = path.stat()
        except OSError:
            stamps += [0, 0]
        else:
            stamps += [found.st_mtime_ns, found.st_ino]
    return tuple(stamps)


class Certificates:
    """One context for the life of the listener: what is loaded into it anew holds from the next handshake on."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._seen = _stamp(pair)
        self.context = load(pair)

    async def step(self) -> float | None:
        await asyncio.to_thread(self.renew)
        return None

    def renew(self) -> bool:
        """Whether new files were taken. Files that do not fit are said in the log, and the old ones stay."""
        stamp = _stamp(self._pair)
        if stamp == self._seen:
            return False
        self._seen = stamp
        try:
            load(self._pair)
            _fill(self.context, self._pair)
        except Refusal as refused:
            log.error("certificate_not_renewed", extra={"code": refused.code, **refused.params})
            return False
        log.info("certificate_renewed", extra={"path": str(self._pair.certificate)})
        return True
