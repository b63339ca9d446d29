"""The page of API tokens."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests import rows
from tests.api import address, client_with, sign_in
from workspaces.models import User
from workspaces.tokens.authentication import TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def browser(user: User) -> Client:
    made = Client()
    sign_in(made, user)
    return made


def page(cast: rows.Cast) -> str:
    return reverse("workspaces:token_list", args=[cast.workspace.slug])


def revoke(cast: rows.Cast, token: Any) -> str:
    return reverse("workspaces:token_revoke", args=[cast.workspace.slug, token.pk])


def test_a_new_tokens_text_is_shown_once_and_works(cast: rows.Cast):
    alice = browser(cast.alice)

    made = alice.post(page(cast), {"name": "Night run", "may": ["edit"], "days": "30"})
    after = alice.get(page(cast)).content.decode()

    [text] = (found[0] for found in TEXT.finditer(made.content.decode()))
    assert "no-store" in made.headers["Cache-Control"]
    assert client_with(text).get(address(cast.workspace, "")).json()["capabilities"] == [
        "read",
        "edit",
    ]
    assert text not in after
    assert "Night run" in after
    assert f"{text[:12]}_…" in after


def test_a_token_that_never_expires_is_chosen_on_purpose(cast: rows.Cast):
    form = browser(cast.alice).get(page(cast)).content.decode()
    made = browser(cast.alice).post(page(cast), {"name": "Night run", "days": ""})

    assert re.search(r'value="90"\s+selected', form)
    assert "does not expire" in made.content.decode()


def test_only_what_a_member_may_is_offered(cast: rows.Cast):
    of_owner = browser(cast.alice).get(page(cast)).content.decode()
    of_reader = browser(cast.bob).get(page(cast)).content.decode()

    assert 'value="administer"' in of_owner
    assert 'name="may"' not in of_reader


def test_what_a_reader_forges_is_refused_with_a_reason(cast: rows.Cast):
    response = browser(cast.bob).post(page(cast), {"name": "x", "may": ["edit"]})

    assert "Bob does not have the capability" in response.content.decode()
    assert "Copy the token" not in response.content.decode()


def test_a_missing_name_is_told_beside_the_field(cast: rows.Cast):
    response = browser(cast.bob).post(page(cast), {"name": ""})

    assert "This field is required" in response.content.decode()


def test_a_member_revokes_a_token(cast: rows.Cast):
    token, text = rows.make_token(cast.workspace, cast.bob, name="Old script")

    response = browser(cast.bob).post(revoke(cast, token), follow=True)

    shown = response.content.decode()
    assert "The token “Old script” was revoked." in shown
    assert "Ended" in shown
    assert client_with(text).get(address(cast.workspace, "")).status_code == 401


def test_an_admin_sees_and_revokes_the_tokens_of_others(cast: rows.Cast):
    token, _ = rows.make_token(cast.workspace, cast.bob, name="Bob's script")

    assert "Bob&#x27;s script" in browser(cast.alice).get(page(cast)).content.decode()
    assert browser(cast.alice).post(revoke(cast, token)).status_code == 302
    assert "Bob&#x27;s script" not in browser(cast.alice).get(page(cast)).content.decode()


def test_a_reader_neither_sees_nor_revokes_the_tokens_of_others(cast: rows.Cast):
    token, _ = rows.make_token(cast.workspace, cast.alice, name="Root script")

    assert "Root script" not in browser(cast.bob).get(page(cast)).content.decode()
    assert browser(cast.bob).post(revoke(cast, token)).status_code == 404


def test_an_outsider_finds_no_page(cast: rows.Cast):
    token, _ = rows.make_token(cast.workspace, cast.alice)

    assert browser(cast.charlie).get(page(cast)).status_code == 404
    assert browser(cast.charlie).post(revoke(cast, token)).status_code == 404


def test_a_visitor_is_sent_to_sign_in(cast: rows.Cast):
    assert Client().get(page(cast)).status_code == 302
