from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from django.test import Client

from ingestion.models import Document
from tests import rows
from tests.ingestion import state
from tests.ingestion.once import Once, once_a_module
from workspaces import access
from workspaces.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]

Begun = tuple[rows.Cast, Document]


def begin() -> Begun:
    cast = rows.make_cast()
    return cast, state.read(cast.workspace)["Log"]


begun_once = once_a_module(begin)


@pytest.fixture
def begun(begun_once: Once[Begun], media: Path) -> Begun:
    return begun_once.for_a_test(media)


@pytest.fixture
def cast(begun: Begun) -> rows.Cast:
    return begun[0]


@pytest.fixture
def log(begun: Begun) -> Document:
    return begun[1]


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def seen(cast: rows.Cast, user: User, path: str) -> str:
    response = browser(user).get(f"/w/{cast.workspace.slug}/{path}")
    assert response.status_code == 200, path
    return response.content.decode()


def sent(cast: rows.Cast, user: User, path: str, **data: object) -> str:
    """The page that comes after it."""
    response = browser(user).post(f"/w/{cast.workspace.slug}/{path}", data, follow=True)
    assert response.status_code == 200, path
    return response.content.decode()


def test_a_document_goes_through_the_trash(cast: rows.Cast, log: Document):
    page = seen(cast, cast.alice, f"documents/{log.pk}/")
    assert "1 passage will no longer be searched" in page

    after = sent(cast, cast.alice, f"documents/{log.pk}/trash/")

    assert f"document-{log.pk}" not in after
    trash = seen(cast, cast.alice, "trash/")
    assert "Log" in trash
    assert "30 days left" in trash
    assert "In the trash" in seen(cast, cast.bob, f"documents/{log.pk}/")
    back = sent(cast, cast.alice, f"documents/{log.pk}/restore/")
    assert "In the trash" not in back
    assert "Nothing in the trash" in seen(cast, cast.alice, "trash/")


def test_deleting_for_good_says_first_what_follows(cast: rows.Cast, log: Document):
    question = seen(cast, cast.alice, f"documents/{log.pk}/delete/")
    assert "Deleting “Log” removes 1 passage" in question
    assert "This can't be undone." in question

    sent(cast, cast.alice, f"documents/{log.pk}/delete/")

    with access.in_workspace(cast.workspace.pk):
        assert not Document.objects.in_workspace(cast.workspace).filter(pk=log.pk).exists()


def test_what_is_disabled_is_listed_as_not_searched(cast: rows.Cast, log: Document):
    page = sent(cast, cast.alice, f"documents/{log.pk}/disable/")
    assert "Search it again" in page
    assert "Not searched" in seen(cast, cast.bob, "documents/")

    assert "Search it again" not in sent(cast, cast.alice, f"documents/{log.pk}/enable/")


def test_several_are_moved_at_once(cast: rows.Cast, log: Document):
    with access.in_workspace(cast.workspace.pk):
        ids = [str(row.pk) for row in Document.objects.in_workspace(cast.workspace)]

    assert "No documents yet" in sent(cast, cast.alice, "documents/trash/", ids=ids)
    assert "Nothing in the trash" in sent(cast, cast.alice, "trash/restore/", ids=ids)


def test_the_whole_trash_is_emptied(cast: rows.Cast, log: Document):
    sent(cast, cast.alice, f"documents/{log.pk}/trash/")
    assert "Deleting “Log”" in seen(cast, cast.alice, "trash/empty/")

    assert "Nothing in the trash" in sent(cast, cast.alice, "trash/empty/")


@pytest.mark.django_db(transaction=True)
def test_a_new_title_is_read_again():
    cast, log = begin()
    said = {"title": "The keepers", "collection": "Light", "tags": "oil, lamp", "dated": ""}

    page = sent(cast, cast.alice, f"documents/{log.pk}/edit/", **said)

    assert "The keepers" in page
    state.settled(cast.workspace)
    assert "The keepers" in seen(cast, cast.alice, "documents/")


def test_a_date_that_is_none_is_refused_in_words(cast: rows.Cast, log: Document):
    assert "2026-11-21" in sent(cast, cast.alice, f"documents/{log.pk}/edit/", dated="soon")


@pytest.mark.django_db(transaction=True)
def test_what_comes_back_beside_its_like_says_so():
    cast, log = begin()
    sent(cast, cast.alice, f"documents/{log.pk}/trash/")
    state.read(cast.workspace, {"Log": "Something else."})

    page = sent(cast, cast.alice, f"documents/{log.pk}/restore/")

    assert "There is also a document called “Log”" in page


@pytest.mark.parametrize("act", ["edit", "disable", "enable", "trash", "restore", "delete"])
def test_a_reader_changes_nothing_and_a_stranger_finds_nothing(
    cast: rows.Cast, log: Document, act: str
):
    path = f"/w/{cast.workspace.slug}/documents/{log.pk}/{act}/"

    assert browser(cast.bob).post(path).status_code == 403
    assert browser(cast.charlie).post(path).status_code == 404
    assert "Move to the trash" not in seen(cast, cast.bob, f"documents/{log.pk}/")


def test_nothing_chosen_is_told_in_words(cast: rows.Cast, log: Document):
    for path in ("documents/trash/", "trash/restore/"):
        assert "Choose one document or more first." in sent(cast, cast.alice, path)


def test_what_is_gone_meanwhile_is_in_nobodys_way(cast: rows.Cast, log: Document):
    ids = [str(log.pk), str(uuid.uuid4())]

    page = sent(cast, cast.alice, "documents/trash/", ids=ids)

    assert "1 of the selected documents no longer exists." in page
    assert f"document-{log.pk}" not in page


def test_there_is_nothing_to_confirm_in_an_empty_trash(cast: rows.Cast, log: Document):
    assert "Nothing is left in the trash." in seen_after(cast, "trash/empty/")


def seen_after(cast: rows.Cast, path: str) -> str:
    """The page that an address leads to."""
    response = browser(cast.alice).get(f"/w/{cast.workspace.slug}/{path}", follow=True)
    return response.content.decode()
