from __future__ import annotations

import pytest
from pytest_django import Settings

from tests.workspaces.accounts.people import CountingHasher
from workspaces.accounts import forms


@pytest.fixture(autouse=True)
def _hashing_is_quick(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = [f"{CountingHasher.__module__}.CountingHasher"]
    CountingHasher.hashed = 0


@pytest.fixture(autouse=True)
def _resets_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second that each reset takes, whether or not there is such an account."""
    monkeypatch.setattr(forms, "RESET_SECONDS", 0.0)


@pytest.fixture
def with_mail(settings: Settings) -> None:
    """As an installation that has EMAIL_HOST."""
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    settings.ACCOUNT_EMAIL_NOTIFICATIONS = True
    settings.MFA_ALLOW_UNVERIFIED_EMAIL = False
