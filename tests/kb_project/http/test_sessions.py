from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from kb_project.http.sessions import SessionStore

pytestmark = pytest.mark.django_db


def kept(**values: str) -> str:
    session = SessionStore()
    session.update(values)
    session.save()
    assert session.session_key
    return session.session_key


def test_what_was_kept_is_read_again():
    key = kept(colour="green")

    assert SessionStore(key)["colour"] == "green"


def test_a_session_that_has_expired_is_none():
    key = kept(colour="green")
    Session.objects.filter(pk=key).update(expire_date=timezone.now() - timedelta(seconds=1))

    assert "colour" not in SessionStore(key)


def test_a_key_that_nobody_was_given_is_given_to_nobody():
    session = SessionStore("abcdefgh12345678")

    assert session.get("colour") is None
    assert session.session_key is None


def test_a_session_that_was_ended_is_gone():
    key = kept(colour="green")

    SessionStore(key).flush()

    assert SessionStore(key).get("colour") is None


def test_a_session_is_changed_and_keeps_its_key():
    key = kept(colour="green")
    session = SessionStore(key)

    session["colour"] = "red"
    session.save()

    assert (session.session_key, SessionStore(key)["colour"]) == (key, "red")
