"""Hashes of passwords are useless without a key that the database does not hold."""

from __future__ import annotations

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, make_password
from django_q.conf import Conf
from pytest_django import Settings

from kb_project.keys import derived_key, opened, sealed
from tests import rows
from workspaces.models import User

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def plain() -> str:
    """As Django encodes a password; few rounds, since nothing here depends on them."""
    return PBKDF2PasswordHasher().encode(PASSWORD, "salt", 1_000_000)


def test_a_password_is_stored_sealed_and_matches():
    encoded = make_password(PASSWORD)

    assert encoded.startswith("pbkdf2_sha256_sealed$")
    assert len(encoded) <= (User._meta.get_field("password").max_length or 0)
    assert check_password(PASSWORD, encoded)
    assert not check_password("another", encoded)


def test_what_is_stored_has_nothing_of_the_hash(plain: str):
    hidden = sealed(plain)

    assert plain.rsplit("$", 1)[1] not in hidden
    assert opened(hidden) == plain


def test_sealing_again_changes_nothing(plain: str):
    assert sealed(sealed(plain)) == sealed(plain)


def test_without_the_key_no_password_matches(plain: str, settings: Settings):
    hidden = sealed(plain)
    settings.SECRET_KEY = "another"

    assert opened(hidden) == hidden
    assert not check_password(PASSWORD, hidden)
    assert sealed(hidden) == hidden


def test_a_former_key_still_opens_and_the_present_one_seals(plain: str, settings: Settings):
    hidden = sealed(plain)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"
    assert check_password(PASSWORD, hidden)

    renewed = sealed(hidden)

    settings.SECRET_KEY_FALLBACKS = []
    assert renewed != hidden
    assert opened(renewed) == plain


@pytest.mark.parametrize("odd", ["", "!", "!unusable", "md5$salt$x", "argon2$argon2id$v=19"])
def test_what_is_no_such_hash_stays_as_it_is(odd: str):
    assert sealed(odd) == odd
    assert opened(odd) == odd


@pytest.mark.django_db
def test_a_restored_account_signs_in_and_its_hash_is_sealed(plain: str):
    user = rows.make_user("Ada")
    User.objects.filter(pk=user.pk).update(password=plain)

    assert authenticate(None, username=user.email, password=PASSWORD) == user

    user.refresh_from_db()
    assert user.password.startswith("pbkdf2_sha256_sealed$")


def test_the_queue_is_signed_with_a_key_of_its_own():
    assert Conf.SECRET_KEY != django_settings.SECRET_KEY
    assert derived_key("a", b"one") != derived_key("a", b"two") != derived_key("b", b"two")
