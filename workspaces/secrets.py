"""Endpoint keys and the secrets of second factors, encrypted at rest.

A key is sealed by Fernet under a key that HKDF derives from ``SECRET_KEY`` for each workspace: a
sealed key moved to another workspace's row cannot be opened. ``SECRET_KEY_FALLBACKS`` open keys
sealed before ``SECRET_KEY`` was changed.
"""

from __future__ import annotations

import base64
import uuid
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from kb_project.errors import RefusedError, UnavailableError
from kb_project.keys import derived_key, secrets

_FACTOR_PURPOSE: Final = b"concordance second factor"
_PURPOSE: Final = b"concordance endpoint key "
HINT_LENGTH: Final = 4
SHORTEST_HINTED: Final = 12
"""The last four characters of a shorter key would reveal too much."""


def seal(key: str, workspace_id: uuid.UUID) -> bytes:
    """Encrypt a key for storage; an empty key gives empty bytes."""
    return _box(workspace_id).encrypt(key.encode()) if key else b""


def unseal(sealed: bytes | memoryview, workspace_id: uuid.UUID) -> str:
    """Return the key, '' for none. Raises RefusedError if ``SECRET_KEY`` has changed since it was
    sealed.
    """
    if not sealed:
        return ""
    try:
        return _box(workspace_id).decrypt(bytes(sealed)).decode()
    except InvalidToken:
        raise RefusedError(
            "The stored key of the model endpoint cannot be read any more: this server's"
            " SECRET_KEY has changed since it was entered.",
            code="key_unreadable",
            kept="All documents and results were kept.",
            next_step="An admin of the workspace must enter the key again on the page Models.",
        ) from None


def resealed(sealed: bytes | memoryview, workspace_id: uuid.UUID) -> bytes | None:
    """Return the key sealed under the present ``SECRET_KEY``; None if it is already.

    Raises RefusedError if neither that nor a former one opens it.
    """
    try:
        MultiFernet(_fernets(_PURPOSE + workspace_id.bytes)[:1]).decrypt(bytes(sealed))
    except InvalidToken:
        return seal(unseal(sealed, workspace_id), workspace_id)
    return None


def seal_factor(secret: str) -> str:
    """Encrypt the secret of an authenticator app or of recovery codes."""
    return _factor_box().encrypt(secret.encode()).decode()


def unseal_factor(sealed: str) -> str:
    """Return the secret. Raises UnavailableError if ``SECRET_KEY`` has changed since."""
    try:
        return _factor_box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise UnavailableError(
            "Your second factor cannot be read: this server's SECRET_KEY has changed since you"
            " set it up.",
            code="factor_unreadable",
            next_step="Ask your administrator to put the former key in SECRET_KEY_FALLBACKS.",
        ) from None


def resealed_factor(sealed: str) -> str | None:
    """Return the factor's secret sealed under the present ``SECRET_KEY``; None if it is already.

    Raises UnavailableError if neither that nor a former one opens it.
    """
    try:
        MultiFernet(_fernets(_FACTOR_PURPOSE)[:1]).decrypt(sealed.encode())
    except InvalidToken:
        return seal_factor(unseal_factor(sealed))
    return None


def hint(key: str) -> str:
    """Return the end of a key, for recognising it.

    >>> hint("sk-0123456789abcd"), hint("short")
    ('abcd', '')
    """
    return key[-HINT_LENGTH:] if len(key) >= SHORTEST_HINTED else ""


def _box(workspace_id: uuid.UUID) -> MultiFernet:
    return MultiFernet(_fernets(_PURPOSE + workspace_id.bytes))


def _factor_box() -> MultiFernet:
    return MultiFernet(_fernets(_FACTOR_PURPOSE))


def _fernets(purpose: bytes) -> list[Fernet]:
    """Return the box of the present secret, then those of former ones."""
    keys = (derived_key(secret, purpose) for secret in secrets())
    return [Fernet(base64.urlsafe_b64encode(key)) for key in keys]
