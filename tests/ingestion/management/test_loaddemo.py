from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from ingestion.management.commands import loaddemo
from ingestion.models import Document, DocumentState
from tests import rows
from workspaces import access
from workspaces.models import User, Workspace
from workspaces.people import queries as people_queries
from workspaces.ports import settings_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _apart(media: Path, fake_embedder: None) -> None:
    """Files and vectors of the test's own."""


@pytest.fixture
def two_documents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A smaller demo, for tests that wait for it."""
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "a.txt").write_text("Ada Lind keeps the light of Skarrow.")
    (folder / "b.txt").write_text("Bo Strand sells oil to Ada Lind.")
    monkeypatch.setattr(loaddemo, "DOCUMENTS", folder)
    return folder


def call(*arguments: str) -> str:
    out = StringIO()
    call_command("loaddemo", *arguments, stdout=out)
    return out.getvalue()


def demo_documents() -> list[Document]:
    workspace = Workspace.objects.get(slug="demo")
    with access.in_workspace(workspace.pk):
        return list(Document.objects.in_workspace(workspace).order_by("name"))


def test_the_demo_is_a_workspace_of_its_own_person(settings):
    said = call("--no-wait")

    person = User.objects.get(email=settings.DEMO_EMAIL)
    [workspace] = people_queries.workspaces_of(user=person)
    assert (workspace.slug, workspace.is_demo) == ("demo", True)
    assert workspace.membership.role == "owner"
    assert person.check_password(settings.DEMO_PASSWORD)
    assert f"{settings.DEMO_EMAIL} / {settings.DEMO_PASSWORD}" in said


def test_every_document_written_for_the_demo_is_in_it():
    call("--no-wait")

    assert {document.name for document in demo_documents()} == {
        path.name for path in loaddemo.DOCUMENTS.iterdir()
    }


def test_a_second_call_changes_nothing():
    call("--no-wait")
    before = [(document.pk, document.updated_at) for document in demo_documents()]

    said = call("--no-wait")

    assert "already complete" in said
    assert [(document.pk, document.updated_at) for document in demo_documents()] == before


def test_an_interrupted_load_is_completed(two_documents: Path):
    call("--no-wait")
    (two_documents / "c.txt").write_text("The reef lies to the north.")

    assert "1 documents added" in call("--no-wait")
    assert [document.name for document in demo_documents()] == ["a.txt", "b.txt", "c.txt"]


def test_the_demos_person_keeps_a_password_of_their_own(settings):
    call("--no-wait")
    person = User.objects.get(email=settings.DEMO_EMAIL)
    person.set_password("something else")
    person.save()

    call("--no-wait")

    person.refresh_from_db()
    assert person.check_password("something else")


def test_a_workspace_of_ones_own_called_demo_is_left_alone():
    workspace = rows.make_workspace("Demo")

    assert "was not changed" in call("--no-wait")

    with access.in_workspace(workspace.pk):
        assert not Document.objects.in_workspace(workspace).exists()


@pytest.mark.django_db(transaction=True)
def test_waiting_ends_with_every_document_ready(two_documents: Path):
    call()

    assert {document.state for document in demo_documents()} == {DocumentState.READY}


def test_where_others_can_reach_the_server_the_password_is_made_up_and_said_once(settings):
    settings.DEMO_PASSWORD = ""

    first, second = call("--no-wait"), call("--no-wait")

    person = User.objects.get(email=settings.DEMO_EMAIL)
    [password] = re.findall(rf"{settings.DEMO_EMAIL} / (\S+)", first)
    assert person.check_password(password)
    assert len(password) >= 16
    assert "Sign in as" not in second


def test_a_published_password_is_replaced_when_others_can_reach_the_server(settings):
    call("--no-wait")
    settings.DEMO_PASSWORD = ""

    said = call("--no-wait")

    person = User.objects.get(email=settings.DEMO_EMAIL)
    assert not person.check_password(settings.PUBLISHED_DEMO_PASSWORD)
    [password] = re.findall(rf"{settings.DEMO_EMAIL} / (\S+)", said)
    assert person.check_password(password)


def test_the_demo_may_use_the_installations_model_when_it_is_loaded_with_one(two_documents):
    call("--no-wait")
    workspace = Workspace.objects.get(slug="demo")
    assert settings_of(workspace.pk) is None

    call("--no-wait", "--with-model")

    row = settings_of(workspace.pk)
    assert row is not None
    assert row.may_use_installation
