"""Fixtures of tests that touch files or models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from pytest_django import Settings

from kb_project.database import outages
from kb_project.env import env_str
from kb_project.llm import call, embedders
from kb_project.llm.policy import Retry, RetryPolicy
from kb_project.ports import build_ports

# A first example may load a model or wait for a busy machine: that is no failure.
hypothesis.settings.register_profile("usual", deadline=None, max_examples=25)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=200)
hypothesis.settings.load_profile(env_str("HYPOTHESIS_PROFILE", "usual"))


MODEL_HOSTS = ["127.0.0.0/8", "::1", "localhost", "fake.invalid", "models.example.org"]


@pytest.fixture
def media(settings: Settings, tmp_path: Path) -> Path:
    """A media folder of the test's own."""
    folder = tmp_path / "media"
    folder.mkdir()
    settings.MEDIA_ROOT = str(folder)
    return folder


@pytest.fixture
def fake_embedder(settings: Settings) -> Iterator[None]:
    """Vectors without a model, so that a test waits for nothing."""
    settings.EMBEDDER = "fake"
    build_ports.cache_clear()
    yield
    build_ports.cache_clear()


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are called as often as ever, and again at once."""
    attempts = RetryPolicy(attempts=6, first=0.01, longest=0.02, longest_wish=0.05)
    for module in (call, embedders):
        monkeypatch.setattr(module, "Retry", lambda: Retry(attempts))


@pytest.fixture(scope="session", autouse=True)
def _listeners_end_at_once() -> None:
    """A listener looks between two messages whether it is to stop: half a second a test."""
    outages.SECONDS_BETWEEN_LOOKS = 0.02


@pytest.fixture(scope="session", autouse=True)
def _passwords_are_hashed_at_once() -> None:
    """A million rounds take a third of a second for each password that is set or checked."""
    PBKDF2PasswordHasher.iterations = 1_000


@pytest.fixture(scope="session", autouse=True)
def _codes_of_an_app_come_in_time() -> None:
    """Each is taken for half a minute longer: a machine may be slow to send it."""
    django_settings.MFA_TOTP_TOLERANCE = 1


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_not_listed() -> None:
    """Every test client builds the middleware again; listing all static files takes 50 ms."""
    django_settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session", autouse=True)
def _test_servers_may_be_called() -> None:
    """Servers of models run on loopback; the other names are never resolved."""
    django_settings.MODEL_HOSTS_ALLOWED = MODEL_HOSTS
