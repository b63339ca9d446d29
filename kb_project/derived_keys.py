"""Keys for separate uses, derived from ``SECRET_KEY`` by HKDF: one never opens what another seals.

``SECRET_KEY_FALLBACKS`` are former values of ``SECRET_KEY``, which still open.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def secrets() -> list[str]:
    """Return the present secret and the former ones."""
    return [str(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


def derived_key(secret: str, purpose: bytes) -> bytes:
    """Return 32 bytes."""
    return HKDF(SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())
