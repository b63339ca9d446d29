from __future__ import annotations

import pytest
from django.urls import reverse

from ingestion.documents.collections import services
from ingestion.history.recording import ChangeContext
from ingestion.models import Collection, Document
from tests import rows
from tests.workspaces.pages import signed_in
from workspaces import access
from workspaces.models import User

pytestmark = pytest.mark.django_db

NAME = "<b>Logs</b>"
SHOWN = "&lt;b&gt;Logs&lt;/b&gt;"


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def logs(cast: rows.Cast) -> Collection:
    change = ChangeContext(cast.workspace, cast.alice)
    return services.collection_create(change=change, name=NAME)


def address(name: str, *rest: object) -> str:
    return reverse(f"ingestion:{name}", args=["harbour", *rest])


def seen(user: User, page: str, *rest: object) -> str:
    response = signed_in(user).get(address(page, *rest))
    assert response.status_code == 200
    return response.content.decode()


def sent(user: User, page: str, *rest: object, **data: object) -> str:
    """The page that comes after it."""
    response = signed_in(user).post(address(page, *rest), data, follow=True)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def inside(cast: rows.Cast, collection: Collection) -> list[str]:
    with access.in_workspace(cast.workspace.pk):
        found = Document.objects.in_workspace(cast.workspace).filter(collection=collection)
        return sorted(found.values_list("title", flat=True))


def test_the_list_has_each_collection_with_its_documents_counted(cast: rows.Cast, logs: Collection):
    rows.make_document(cast.workspace, "Log", "Oil.", collection=logs)

    page = seen(cast.bob, "collection_list")

    assert SHOWN in page
    assert NAME not in page
    assert "1 document<" in page


def test_an_editor_creates_one_and_comes_to_its_page(cast: rows.Cast):
    page = sent(cast.alice, "collection_create", name="Charts")

    assert "Created the collection &#x27;Charts&#x27;." in page
    assert "No documents in this collection" in page


def test_a_taken_name_comes_back_with_the_reason(cast: rows.Cast, logs: Collection):
    response = signed_in(cast.alice).post(address("collection_create"), {"name": NAME.upper()})

    assert response.status_code == 422
    assert "Capital letters make no difference." in response.content.decode()


def test_a_collection_is_renamed_on_its_page(cast: rows.Cast, logs: Collection):
    page = sent(cast.alice, "collection_rename", logs.pk, name="Charts")

    assert "Charts</h1>" in page


def test_chosen_documents_move_there_and_out_again(cast: rows.Cast, logs: Collection):
    made = [rows.make_document(cast.workspace, title, title) for title in ("One", "Two", "Three")]
    ids = [str(one.pk) for one in made[:2]]
    assert f'value="{logs.pk}"' in seen(cast.alice, "document_list")

    page = sent(cast.alice, "documents_move", ids=ids, collection=str(logs.pk))
    assert "Moved &#x27;One&#x27; and &#x27;Two&#x27; to the collection" in page
    assert inside(cast, logs) == ["One", "Two"]

    there = address("collection_detail", logs.pk)
    page = sent(cast.alice, "documents_move", ids=ids[:1], collection="none", next=there)
    assert f"{SHOWN}</h1>" in page
    assert inside(cast, logs) == ["Two"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "Choose one document or more first."),
        ({"ids": "00000000-0000-4000-8000-000000000000"}, "Choose a collection first."),
    ],
)
def test_nothing_chosen_moves_nothing(cast: rows.Cast, data: dict[str, str], said: str):
    assert said in sent(cast.alice, "documents_move", **data)


@pytest.mark.parametrize("there", ["https://example.com/", "//example.com", "/w/other/documents/"])
def test_a_move_leads_back_to_a_page_of_this_workspace_alone(cast: rows.Cast, there: str):
    response = signed_in(cast.alice).post(address("documents_move"), {"next": there})

    assert response["Location"] == address("document_list")


def test_deleting_says_first_that_the_documents_stay(cast: rows.Cast, logs: Collection):
    log = rows.make_document(cast.workspace, "Log", "Oil.", collection=logs)

    assert "Its 1 document stays in the workspace" in seen(cast.alice, "collection_delete", logs.pk)
    page = sent(cast.alice, "collection_delete", logs.pk)

    assert "Its documents were kept." in page
    assert "No collections yet" in page
    assert f'id="document-{log.pk}"' in seen(cast.alice, "document_list")


def test_a_reader_sees_no_form(cast: rows.Cast, logs: Collection):
    rows.make_document(cast.workspace, "Log", "Oil.", collection=logs)

    for page in (
        seen(cast.bob, "collection_list"),
        seen(cast.bob, "collection_detail", logs.pk),
        seen(cast.bob, "document_list"),
    ):
        assert 'name="name"' not in page
        assert "formaction" not in page


def test_a_stranger_finds_no_collection(cast: rows.Cast, logs: Collection):
    response = signed_in(cast.charlie).get(address("collection_detail", logs.pk))

    assert response.status_code == 404


def test_a_document_leads_to_its_collection(cast: rows.Cast, logs: Collection):
    log = rows.make_document(cast.workspace, "Log", "Oil.", collection=logs)

    assert address("collection_detail", logs.pk) in seen(cast.bob, "document_detail", log.pk)
