from __future__ import annotations

import pytest

from ingestion.models import Document, DocumentVersion
from retrieval.answering.drafts import CitedPassage
from retrieval.answering.persistence import version_numbers, with_versions
from tests.rows import Cast, chunks_of, make_cast, make_document
from workspaces import access

pytestmark = pytest.mark.django_db

FIRST = "Ada Lind keeps the light."
SECOND = "Now Bo Strand keeps the light."


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def cited(document: Document, start: int, end: int, quote: str) -> CitedPassage:
    [chunk] = chunks_of(document)
    return CitedPassage(1, chunk.pk, document.pk, start, end, quote, ((start, end),))


def numbers(cast: Cast, one: CitedPassage) -> dict[int, int]:
    with access.in_workspace(cast.workspace.pk):
        return version_numbers(cast.workspace.pk, [one])


def replaced(cast: Cast) -> Document:
    """A document whose second version is searched."""
    document = make_document(cast.workspace, "Log", FIRST)
    with access.in_workspace(cast.workspace.pk):
        DocumentVersion.objects.create(
            workspace=cast.workspace, document=document, number=2, blob="none", text=SECOND
        )
        Document.objects.in_workspace(cast.workspace).update(live_number=2)
    return document


def test_a_citation_speaks_of_the_version_that_is_searched(cast: Cast):
    document = make_document(cast.workspace, "Log", FIRST)

    assert numbers(cast, cited(document, 0, 8, "Ada Lind")) == {1: 1}
    assert numbers(cast, cited(replaced(cast), 4, 13, "Bo Strand")) == {1: 2}


def test_a_passage_that_was_read_before_another_version_came_is_cited_where_it_stood(cast: Cast):
    assert numbers(cast, cited(replaced(cast), 0, 8, "Ada Lind")) == {1: 1}


def test_a_quotation_that_stands_nowhere_is_of_the_version_that_is_searched(cast: Cast):
    assert numbers(cast, cited(replaced(cast), 0, 8, "Somebody")) == {1: 2}


def test_nothing_cited_asks_nothing(cast: Cast):
    with access.in_workspace(cast.workspace.pk):
        assert version_numbers(cast.workspace.pk, []) == {}


def test_passages_near_a_question_name_their_version(cast: Cast):
    document = replaced(cast)
    near = {"chunk": "c", "document": str(document.pk), "start": 0, "end": 3, "score": 0.5}

    with access.in_workspace(cast.workspace.pk):
        assert with_versions(cast.workspace.pk, [near]) == [near | {"version": 2}]
        assert with_versions(cast.workspace.pk, []) == []
