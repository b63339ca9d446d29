from __future__ import annotations

import pytest

from ingestion.knowledge.spans import SourceSpan, spans_of
from ingestion.models import Document
from tests.rows import chunks_of, make_document, make_workspace
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind rows.\n\nBo sells oil."


def spans(document: Document, **more: object) -> list[SourceSpan]:
    [_, second] = chunks_of(document)
    place = {"chunk": str(second.pk), "start": second.start, "end": second.start + 2, **more}
    with access.in_workspace(document.workspace_id):
        return spans_of(document.workspace, [place])


def test_a_place_is_told_with_its_words():
    [span] = spans(make_document(make_workspace(), "Log", TEXT))

    assert (span.text, span.document.title) == ("Bo", "Log")


def test_a_place_in_a_passage_that_is_gone_is_left_out():
    document = make_document(make_workspace(), "Log", TEXT)

    assert not spans(document, chunk=str(document.pk))


def test_a_place_in_an_earlier_version_is_left_out():
    document = make_document(make_workspace(), "Log", TEXT)
    assert spans(document, version=1)

    with access.in_workspace(document.workspace_id):
        Document.objects.in_workspace(document.workspace_id).update(live_number=2)

    assert not spans(document, version=1)
    assert spans(document)
