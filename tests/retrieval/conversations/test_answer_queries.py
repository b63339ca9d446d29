from __future__ import annotations

import json
from uuid import uuid4

import pytest

from ingestion.models import Document, DocumentVersion
from kb_project.errors import NotFoundError
from retrieval.conversations import asking, queries
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

KEEPERS = "Ada Lind keeps the Skarrow light.\n\nThe lamp burns oil."
SUPPORTED = "Who keeps the Skarrow light?"
UNSUPPORTED = "Who painted the Skarrow light in Zanzibar with Tesla?"


@pytest.fixture
def cast():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Keepers", KEEPERS)
    return cast


def ask(cast, question=SUPPORTED):
    return asking.ask(workspace=cast.workspace, user=cast.alice, question=question, mode="lexical")


def view_of(cast, answer):
    return queries.answer_view(workspace=cast.workspace, answer=answer)


def test_a_view_survives_the_way_through_json(cast):
    for question in (SUPPORTED, UNSUPPORTED):
        view = view_of(cast, ask(cast, question))

        assert json.loads(json.dumps(view)) == view


def test_a_supported_answer_is_told_with_its_citations(cast):
    view = view_of(cast, ask(cast))

    (citation,) = view["citations"]
    assert view["supported"]
    assert view["answer"] == "Ada Lind keeps the Skarrow light."
    assert (view["mode"], view["question"]) == ("lexical", SUPPORTED)
    assert view["written_by"] == "extractive"
    assert view["nearest"] == []
    assert (citation["number"], citation["title"]) == (1, "Keepers")
    assert KEEPERS[citation["start"] : citation["end"]] == citation["quote"]


def test_an_unsupported_answer_says_nothing_and_shows_what_is_near(cast):
    view = view_of(cast, ask(cast, UNSUPPORTED))

    assert not view["supported"]
    assert (view["answer"], view["citations"]) == ("", [])
    for one in view["nearest"]:
        assert KEEPERS[one["start"] : one["end"]] == one["text"]
        assert one["title"] == "Keepers"
    assert view["nearest"][0]["text"] == "Ada Lind keeps the Skarrow light."


def test_what_was_near_is_left_out_once_its_document_is_gone(cast):
    answer = ask(cast, UNSUPPORTED)
    with access.in_workspace(cast.workspace.pk):
        DocumentVersion.objects.in_workspace(cast.workspace).delete()
        Document.objects.in_workspace(cast.workspace).delete()

    view = view_of(cast, answer)

    assert answer.nearest
    assert view["nearest"] == []


def test_the_title_is_the_one_the_document_has_now(cast):
    answer = ask(cast)
    with access.in_workspace(cast.workspace.pk):
        Document.objects.in_workspace(cast.workspace).update(title="Keepers of the north")

    assert view_of(cast, answer)["citations"][0]["title"] == "Keepers of the north"


def test_an_answer_of_another_workspace_is_not_found_here(cast):
    answer, other = ask(cast), rows.make_workspace("Elsewhere")

    for workspace, answer_id in ((other, answer.pk), (cast.workspace, uuid4())):
        with access.in_workspace(workspace.pk), pytest.raises(NotFoundError):
            queries.answer_of(workspace=workspace, answer_id=answer_id)
