from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ingestion.models import DocumentVersion
from kb_project.ports import build_ports
from retrieval.models import Outcome
from tests import rows
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

TEXT = "Ada Lind keeps the Skarrow light.\n\nThe quarry road is closed in winter."


@pytest.fixture
def workspace(fake_embedder):
    workspace = rows.make_workspace("Harbour")
    rows.make_document(workspace, "Keepers", TEXT, embedder=build_ports().embedder)
    return workspace


def run(*words, **options):
    out = StringIO()
    call_command(*words, workspace="harbour", stdout=out, **options)
    return out.getvalue()


def test_search_prints_hits_that_programs_can_read(workspace):
    found = json.loads(run("search", "Who keeps the light?", mode="lexical", top_k=1, json=True))

    (hit,) = found["hits"]
    assert found["mode"] == "lexical"
    assert hit["title"] == "Keepers"
    assert hit["text"] == TEXT[hit["start"] : hit["end"]] == "Ada Lind keeps the Skarrow light."
    assert hit["why"]
    assert {"document", "chunk", "score"} <= hit.keys()


def test_search_prints_hits_that_people_can_read(workspace):
    said = run("search", "Who keeps the light?", mode="dense")

    assert "1. Keepers [0:33]" in said
    assert "Ada Lind keeps the Skarrow light." in said


def test_search_says_when_nothing_was_found(workspace):
    assert "Nothing was found." in run("search", "zeppelin", mode="lexical")


def test_ask_prints_an_answer_whose_quotes_are_the_documents_text(workspace):
    said = json.loads(run("ask", "Who keeps the Skarrow light?", mode="hybrid", json=True))

    with access.in_workspace(workspace.pk):
        text = DocumentVersion.objects.in_workspace(workspace).get().text
    assert said["supported"]
    assert said["answer"] == "Ada Lind keeps the Skarrow light."
    (sentence,) = said["sentences"]
    assert (sentence["text"], sentence["citations"]) == (said["answer"], [1])
    (citation,) = said["citations"]
    assert citation["quote"] == text[citation["start"] : citation["end"]]
    assert {"number", "document", "title", "chunk"} <= citation.keys()
    assert said["trace"]["mode"] == said["mode"] == "hybrid"


def test_ask_prints_numbers_that_people_can_follow(workspace):
    said = run("ask", "Who keeps the Skarrow light?", mode="hybrid")

    assert "Ada Lind keeps the Skarrow light. [1]" in said
    assert "[1] Keepers [0:33]" in said


def test_ask_prints_only_the_context(workspace):
    said = run("ask", "Who keeps the Skarrow light?", mode="hybrid", only="context")
    found = run("ask", "Who keeps the Skarrow light?", mode="hybrid", only="context", json=True)

    assert "[1]\n<passage>" in said
    assert json.loads(found)["text"] in said
    assert "Ada Lind keeps the Skarrow light." in said


def test_ask_says_that_the_documents_do_not_answer(workspace):
    said = run("ask", "What does a zeppelin weigh?")

    assert any(one in said for one in (Outcome.UNSURE.label, Outcome.NOTHING.label))


@pytest.mark.parametrize("command", ["search", "ask"])
@pytest.mark.parametrize(
    ("question", "options", "fault"),
    [
        ("???", {}, "The question contains no words"),
        ("Why?", {"mode": "telepathy"}, "no search mode"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence_and_no_traceback(
    workspace, command, question, options, fault
):
    with pytest.raises(CommandError, match=fault):
        run(command, question, **options)


@pytest.mark.parametrize("command", ["search", "ask"])
def test_a_workspace_that_is_not_there_is_named(command):
    with pytest.raises(CommandError, match="no workspace 'harbour'"):
        run(command, "Why?")
