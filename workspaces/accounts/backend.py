"""Judges an e-mail address and a password by exactly one hash."""

from __future__ import annotations

from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.internal.userkit import filter_users_by_email

from workspaces.models import User


class EmailBackend(AuthenticationBackend):
    """allauth's, which tries every account with an address of this spelling.

    An unconfirmed address may be on two accounts: each would cost a hash, and the time would tell.
    """

    def _authenticate_by_email(self, email: str, password: str) -> User | None:
        users = filter_users_by_email(email, prefer_verified=True, for_login=True)
        oldest = min(users, key=lambda user: user.pk, default=None)
        return self._check_password(oldest, password)
