"""Reads requests to the API: password authentication, and a limit on the size of bodies.

On its own since REST framework imports it while it defines its views.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any, Final

from django.core.cache import cache
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.parsers import JSONParser

from kb_project.errors import InputError

MOST_FAILURES: Final = 8
SECONDS_TO_COOL_DOWN: Final = 300


class PasswordAuthentication(BasicAuthentication):
    """HTTP Basic with e-mail address and password; limits wrong attempts per account
    and address.
    """

    www_authenticate_realm = "Concordance"

    def authenticate_credentials(
        self, userid: str, password: str, request: Any = None
    ) -> tuple[Any, None]:
        email = userid.strip().lower()
        failures = _failures_key(email, request)
        if cache.get(failures, 0) >= MOST_FAILURES:
            raise Throttled(SECONDS_TO_COOL_DOWN, "Too many attempts with a wrong password.")
        try:
            return super().authenticate_credentials(email, password, request)
        except AuthenticationFailed:
            cache.add(failures, 0, SECONDS_TO_COOL_DOWN)
            cache.incr(failures)
            raise AuthenticationFailed("The address or the password is wrong.") from None


def _failures_key(email: str, request: Any) -> str:
    """Return a key for the failures on an account from an address, revealing neither."""
    address = request.META.get("REMOTE_ADDR", "") if request else ""
    return "password-failures:" + hashlib.sha256(f"{address} {email}".encode()).hexdigest()


LARGEST: Final = 32 * 1024 * 1024
"""Bytes of JSON. Files are sent in forms, which are stored on disk and measured as they
are read."""


class BoundedJSONParser(JSONParser):
    """Raises InputError for a longer body, before reading all of it."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = stream.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise InputError(
                f"The body is longer than {LARGEST // 1024**2} MB.",
                code="body_too_large",
                kept="Nothing was changed.",
                next_step="Send less at once.",
            )
        return super().parse(BytesIO(body), media_type, parser_context)
