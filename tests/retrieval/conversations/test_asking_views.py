"""Asking with filters, and what cannot be asked."""

from __future__ import annotations

import pytest

from retrieval.conversations import asking
from retrieval.models import Answer, Question
from tests.retrieval import pages
from tests.retrieval.pages import QUESTION, address, answers, change, client_of, page_of
from tests.rows import Cast, make_cast, make_collection, make_document
from tests.workspaces.models_rows import ENDPOINT, MODEL
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return pages.cast_with_light()


@pytest.fixture
def queued(cast: Cast) -> Answer:
    return pages.asked_by_alice(cast)


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_documents_are_found_for_a_filter(cast, who):
    page = page_of(getattr(cast, who), "scope_choices", cast, "documents", find_documents="light")

    assert "The light" in page
    assert 'name="documents"' in page


def test_an_outsider_finds_no_documents_for_a_filter(cast):
    response = client_of(cast.charlie).get(
        address("scope_choices", cast, "documents"), {"find_documents": "light"}
    )

    assert response.status_code == 404


def test_nothing_by_that_name_is_said(cast):
    page = page_of(cast.bob, "scope_choices", cast, "documents", find_documents="zeppelin")

    assert "Nothing by that name." in page


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_the_instructions_of_the_workspace_are_shown_to_everyone_who_asks(cast, who):
    choice = ModelChoice(endpoint=ENDPOINT, model=MODEL, instructions="Write for <engineers>.")
    language_model_services.model_settings_save(workspace=cast.workspace, choice=choice)

    page = page_of(getattr(cast, who), "ask", cast)

    assert "Write for &lt;engineers&gt;." in page


def test_a_question_keeps_the_filters_it_was_asked_with(cast):
    shelf = make_collection(cast.workspace, "Logs")

    client_of(cast.bob).post(
        address("ask", cast),
        {"question": QUESTION, "collections": shelf.pk, "tags": "tide", "dated_from": "1869-01-01"},
    )

    with access.in_workspace(cast.workspace.pk):
        scope = Question.objects.in_workspace(cast.workspace).get().scope
    assert scope == {
        "collections": [str(shelf.pk)],
        "tags": ["tide"],
        "dated_from": "1869-01-01",
    }


def test_a_filter_that_nothing_passes_has_its_own_sentence_and_a_way_on(cast):
    answer = asking.ask(
        workspace=cast.workspace,
        user=cast.alice,
        question=QUESTION,
        mode="lexical",
    )
    with access.in_workspace(cast.workspace.pk):
        Question.objects.in_workspace(cast.workspace).update(scope={"tags": ["none"]})
    note = {"code": "scope_empty", "sentence": "No document matches the filters."}
    change(cast, answer, outcome="nothing", sentences=[], trace={"notes": [note]})

    page = page_of(cast.alice, "answer_detail", cast, answer.question_id)

    assert "no document passes the filters" in page
    assert "Search all documents" in page
    assert "say nothing about this" not in page


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"question": "  "}, "Nothing was asked."),
        ({"question": "?!…"}, "The question contains no words."),
        ({"question": "light " * 20_000}, "may have at most 4,000 characters"),
        ({"question": QUESTION, "dated_from": "soon"}, "takes a date"),
        (
            {"question": QUESTION, "dated_from": "2024-05-02", "dated_to": "2024-05-01"},
            "is later than",
        ),
    ],
)
def test_what_cannot_be_asked_says_why_and_how_to_go_on(cast, sent, sentence):
    response = client_of(cast.bob).post(address("ask", cast), sent)

    page = response.content.decode()
    assert sentence in page
    assert 'role="alert"' in page
    assert "Your question" in page
    assert answers(cast) == []


def test_a_conversation_of_another_workspace_is_not_continued(cast, queued):
    other = make_cast("Elsewhere")
    with access.in_workspace(cast.workspace.pk):
        conversation = Question.objects.in_workspace(cast.workspace).get().conversation_id

    response = client_of(cast.alice).post(
        address("ask", other), {"question": QUESTION, "conversation": conversation}
    )

    assert response.status_code == 404
    assert answers(other) == []


def test_a_workspace_that_is_still_read_says_so_beside_the_box(cast):
    document = make_document(cast.workspace, "Half read", "x")
    with access.in_workspace(cast.workspace.pk):
        type(document).objects.in_workspace(cast.workspace).filter(pk=document.pk).update(
            state="working"
        )

    assert "1 document is still being read" in " ".join(page_of(cast.bob, "ask", cast).split())
