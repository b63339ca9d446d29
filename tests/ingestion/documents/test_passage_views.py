from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.models import Document
from tests import rows
from tests.ingestion.pages import address, client_of, light, page_of
from tests.ingestion.unread import half_read, read_chunks

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def document(cast: rows.Cast) -> Document:
    return half_read(cast.workspace, rejected={"quote_not_found": 4, "self_loop": 1})


def test_the_documents_page_lists_what_could_not_be_read(cast: rows.Cast, document: Document):
    page = page_of(cast.alice, "document_detail", cast, document.pk)

    assert "2 passages could not be read by the model" in page
    assert "The answer was cut off. Retry the passage." in page
    assert "Passage 2" in page
    assert page.count(address("passages_retry", cast, document.pk)) == 3


def test_the_documents_page_says_what_was_kept_out(cast: rows.Cast, document: Document):
    page = page_of(cast.alice, "document_detail", cast, document.pk)

    assert "4 facts cite words that are not in their passage." in page
    assert "1 fact relates an entity to itself." in page


def test_a_reader_sees_it_too_without_buttons(cast: rows.Cast, document: Document):
    page = page_of(cast.bob, "document_detail", cast, document.pk)

    assert "2 passages could not be read by the model" in page
    assert address("passages_retry", cast, document.pk) not in page


def test_a_document_that_was_read_has_nothing_of_the_kind(cast: rows.Cast):
    page = page_of(cast.alice, "document_detail", cast, light(cast).pk)

    assert "could not be read" not in page
    assert "does not support" not in page


def test_a_button_retries_all(cast: rows.Cast, document: Document):
    response = client_of(cast.alice).post(address("passages_retry", cast, document.pk))

    assert response.status_code == 302
    assert response["Location"] == address("document_detail", cast, document.pk)
    assert read_chunks(document) == [0]


def test_a_button_retries_one(cast: rows.Cast, document: Document):
    chunk = rows.chunks_of(document)[1]

    client_of(cast.alice).post(
        address("passages_retry", cast, document.pk), {"chunk": str(chunk.pk)}
    )

    assert read_chunks(document) == [0, 2]


def test_pressing_twice_says_that_it_is_under_way(cast: rows.Cast, document: Document):
    chunk = rows.chunks_of(document)[1]
    browser = client_of(cast.alice)
    browser.post(address("passages_retry", cast, document.pk), {"chunk": str(chunk.pk)})

    response = browser.post(address("passages_retry", cast, document.pk), follow=True)

    assert "is being read." in response.content.decode()


def test_what_is_no_passage_is_not_there(cast: rows.Cast, document: Document):
    response = client_of(cast.alice).post(
        address("passages_retry", cast, document.pk), {"chunk": "<script>"}
    )

    assert response.status_code == 404


@pytest.mark.parametrize(("name", "status"), [("bob", 403), ("charlie", 404)])
def test_others_may_not(cast: rows.Cast, document: Document, name: str, status: int):
    user = getattr(cast, name)

    response = client_of(user).post(address("passages_retry", cast, document.pk))

    assert response.status_code == status
    assert read_chunks(document) == [0, 1, 2]


def test_a_link_alone_changes_nothing(cast: rows.Cast, document: Document):
    response = client_of(cast.alice).get(address("passages_retry", cast, document.pk))

    assert response.status_code == 405
