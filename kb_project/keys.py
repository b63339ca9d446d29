"""Keys derived from SECRET_KEY, and passwords whose hashes are sealed with one.

``SECRET_KEY_FALLBACKS`` are former values of ``SECRET_KEY``, which still open.

Sign-in reads the hash of every account with the rights of the application, so SQL that slipped in
could read them too. It gets nothing that a password can be guessed against: the hash is encrypted
(AES-CTR, the counter from the account's salt) under a key derived from ``SECRET_KEY``. An encoded
password is ``pbkdf2_sha256_sealed$<iterations>$<salt>$<key id>.<sealed hash>``.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.utils.crypto import constant_time_compare


def secrets() -> list[str]:
    """Return the present secret and the former ones."""
    return [str(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


def derived_key(secret: str, purpose: bytes) -> bytes:
    """Return 32 bytes."""
    return HKDF(SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())


PLAIN: Final = "pbkdf2_sha256"
SEALED: Final = "pbkdf2_sha256_sealed"
_PURPOSE: Final = b"concordance password"
_ID_PURPOSE: Final = b"concordance password key id"


class SealedPasswordHasher(PBKDF2PasswordHasher):
    """Django's PBKDF2, sealed. Without the key no password matches, and no error is raised."""

    algorithm = SEALED

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        return sealed(_plain_hasher.encode(password, salt, iterations))

    def verify(self, password: str, encoded: str) -> bool:
        parts = self.decode(encoded)
        # Hashed in any case: the time must not tell that the key is missing.
        salt, iterations = str(parts["salt"]), int(parts["iterations"])
        expected = _plain_hasher.encode(password, salt, iterations)
        return constant_time_compare(opened(encoded), expected)


_plain_hasher: Final = PBKDF2PasswordHasher()


def sealed(encoded: str) -> str:
    """Seal an encoded password under the present key.

    One that is sealed under it already is returned as it is, and so is one that no key opens, or
    that is not PBKDF2 at all.
    """
    plain = opened(encoded)
    algorithm, _, rest = plain.partition("$")
    if algorithm != PLAIN:
        return encoded
    iterations, salt, digest = rest.split("$")
    secret = secrets()[0]
    closed = _crypted(secret, salt, digest)
    return f"{SEALED}${iterations}${salt}${_key_id(secret)}.{closed}"


def opened(encoded: str) -> str:
    """Return the password as Django encodes it; unchanged if it is not sealed, or no key opens
    it.
    """
    algorithm, _, rest = encoded.partition("$")
    if algorithm != SEALED:
        return encoded
    iterations, salt, stored = rest.split("$")
    key_id, _, closed = stored.partition(".")
    for secret in secrets():
        if _key_id(secret) == key_id:
            return f"{PLAIN}${iterations}${salt}${_crypted(secret, salt, closed)}"
    return encoded


def _crypted(secret: str, salt: str, digest: str) -> str:
    """Encrypt or decrypt: the two are one operation."""
    counter = hashlib.sha256(salt.encode()).digest()[:16]
    cipher = Cipher(AES256(derived_key(secret, _PURPOSE)), CTR(counter)).encryptor()
    return base64.b64encode(cipher.update(base64.b64decode(digest))).decode()


def _key_id(secret: str) -> str:
    return derived_key(secret, _ID_PURPOSE).hex()[:8]
