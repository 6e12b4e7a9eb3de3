"""Secrets as they lie in the database: AES-256-GCM under a key that does not lie there.

A sealed text is `1.KEY_ID.BODY`: the id is the beginning of the key's SHA-256, the body a nonce of 12 bytes with what
`cryptography` makes of the text, in base64url. The name of a secret is authenticated with it, so that the text of one
secret cannot be put in the place of another.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gpustack_lite.errors import Refusal
from gpustack_lite.ports import Randomness

FORMAT = "1"
KEY_BYTES = 32
NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Key:
    """`id` may be shown; `secret` is 32 bytes."""

    id: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Keyring:
    """The first key seals, each opens: so that a key can be replaced while secrets are sealed with the one before."""

    keys: tuple[Key, ...] = ()

    def seal(self, name: str, text: str, randomness: Randomness) -> str:
        """Raises:
        Refusal: `secret_key_missing`.
        """
        if not self.keys:
            raise Refusal("secret_key_missing", status=503)
        nonce = _decoded(randomness.token(NONCE_BYTES))[:NONCE_BYTES]
        body = nonce + AESGCM(self.keys[0].secret).encrypt(nonce, text.encode(), name.encode())
        return f"{FORMAT}.{self.keys[0].id}.{_encoded(body)}"

    def open(self, name: str, sealed: str) -> str:
        """Raises:
        Refusal: `secret_key_missing`, `secret_key_wrong` (no key of this ring sealed it) or `secret_damaged`.
        """
        if not self.keys:
            raise Refusal("secret_key_missing", status=503)
        found = next((each for each in self.keys if each.id == key_id_of(sealed)), None)
        if found is None:
            raise Refusal("secret_key_wrong", status=503, name=name, key_id=key_id_of(sealed))
        try:
            body = _decoded(sealed.split(".")[2])
            return AESGCM(found.secret).decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], name.encode()).decode()
        except (InvalidTag, ValueError, IndexError) as error:
            raise Refusal("secret_damaged", status=500, name=name) from error

    def opens(self, sealed: str) -> bool:
        return any(each.id == key_id_of(sealed) for each in self.keys)


def key_id_of(sealed: str) -> str:
    return [*sealed.split("."), "", ""][1]


def keyring(texts: Sequence[str], where: str) -> Keyring:
    """Keys as people write them: 32 bytes in base64, with either alphabet.

    Raises:
        Refusal: `secret_key_malformed`, naming `where` it was read.
    """
    return Keyring(tuple(_key(each.strip(), where) for each in texts if each.strip()))


def new_key(randomness: Randomness) -> str:
    return _encoded(_decoded(randomness.token(KEY_BYTES))[:KEY_BYTES])


def _key(text: str, where: str) -> Key:
    try:
        secret = _decoded(text.replace("+", "-").replace("/", "_").rstrip("="))
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise Refusal("secret_key_malformed", status=500, where=where)
    return Key(hashlib.sha256(secret).hexdigest()[:8], secret)


def _encoded(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).decode("ascii").rstrip("=")


def _decoded(text: str) -> bytes:
    """Raises:
    ValueError: no base64url.
    """
    try:
        return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("no base64url") from error
