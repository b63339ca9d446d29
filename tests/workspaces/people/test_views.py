from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from tests.api import sign_in
from tests.rows import PASSWORD, make_cast, make_user, make_workspace
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


def client_of(user) -> Client:
    client = Client()
    sign_in(client, user)
    return client


def test_a_visitor_is_sent_to_sign_in():
    response = Client().get("/")

    assert response.status_code == 302
    assert response["Location"].startswith(reverse("account_login"))


def test_a_person_signs_up_and_is_welcomed():
    client = Client()

    response = client.post(
        reverse("account_signup"),
        {"email": "dora@example.com", "password1": PASSWORD, "password2": PASSWORD},
        follow=True,
    )

    assert response.status_code == 200
    assert "Make your first workspace" in response.content.decode()


def test_a_wrong_password_is_told_beside_the_form():
    make_user("Alice")

    response = Client().post(
        reverse("account_login"), {"login": "alice@example.com", "password": "wrong"}
    )

    assert response.status_code == 200
    assert "The e-mail address or the password is wrong." in response.content.decode()


@pytest.mark.parametrize(
    "name", ["account_login", "account_signup", "account_reset_password", "account_logout"]
)
def test_the_pages_of_the_entrance_are_ours(name):
    client = client_of(make_user("Alice")) if name == "account_logout" else Client()

    page = client.get(reverse(name)).content.decode()

    assert "specimen" in page
    assert "<style" not in page
    assert "style=" not in page


def test_the_list_shows_a_persons_own_workspaces_only():
    cast = make_cast("Harbour")
    make_workspace("Elsewhere", owner=cast.charlie)

    page = client_of(cast.alice).get("/").content.decode()

    assert "Harbour" in page
    assert "Elsewhere" not in page


def test_a_new_workspace_belongs_to_who_made_it():
    alice = make_user("Alice")

    response = client_of(alice).post(
        reverse("workspaces:workspace_create"), {"name": "Light House"}
    )

    workspace = Workspace.objects.get(slug="light-house")
    assert response["Location"] == reverse("ingestion:document_list", args=["light-house"])
    assert workspace.created_by == alice


def test_a_taken_address_is_refused():
    cast = make_cast("Harbour")

    response = client_of(cast.alice).post(
        reverse("workspaces:workspace_create"), {"name": "Another", "slug": "harbour"}
    )

    assert "is taken by another workspace" in response.content.decode()
    assert not Workspace.objects.filter(name="Another").exists()


def test_an_owner_sees_the_members():
    cast = make_cast()

    response = client_of(cast.alice).get(
        reverse("workspaces:member_list", args=[cast.workspace.slug])
    )

    page = response.content.decode()
    assert response.status_code == 200
    assert "Bob" in page
    assert "May also add and change documents." in page


def test_a_reader_sees_the_members():
    cast = make_cast()

    response = client_of(cast.bob).get(
        reverse("workspaces:member_list", args=[cast.workspace.slug])
    )

    assert response.status_code == 200


def test_an_outsider_finds_no_members_and_no_workspace():
    cast = make_cast()

    response = client_of(cast.charlie).get(
        reverse("workspaces:member_list", args=[cast.workspace.slug])
    )

    assert response.status_code == 404
    assert "Harbour" not in response.content.decode()


def test_a_workspace_is_found_by_its_id_too():
    cast = make_cast()

    response = client_of(cast.bob).get(reverse("workspaces:member_list", args=[cast.workspace.pk]))

    assert response.status_code == 200


def test_without_mail_the_page_of_members_shows_the_link_to_pass_on(settings: Settings):
    settings.EMAIL_BACKEND = settings.CONSOLE_MAIL
    invite = reverse("workspaces:member_invite", args=["harbour"])

    page = client_of(make_cast("Harbour").alice).post(
        invite, {"email": "dora@example.com", "role": "editor"}
    )

    text = " ".join(page.content.decode().split())
    assert "No mail is set up on this server, so nothing was sent" in text
    assert "http://testserver/invitations/" in text
