"""Password authentication for the API."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from django.core.cache import cache
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled

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
    place = request.META.get("REMOTE_ADDR", "") if request else ""
    return "password-failures:" + hashlib.sha256(f"{place} {email}".encode()).hexdigest()
