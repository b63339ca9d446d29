from __future__ import annotations

import pytest

from kb_project.graph import walk as walking
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import snapshots
from retrieval.search.query import Query, QuestionVector
from retrieval.search.reasons import NEAR, SHOWN, reasons
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

EMBEDDER = FakeEmbedder()


@pytest.fixture
def walked():
    """Reasons for every passage of a small harbour, asked about by name."""

    def ask(question):
        workspace = rows.make_workspace()
        names = {"Ada Lind": "person", "Per Holm": "person", "Voar": "place", "Strand": "place"}
        texts = {
            "one": "Ada Lind met Per Holm at Voar in Strand.",
            "two": "The pier of Voar was built of stone.",
            "three": "It rained all through May.",
        }
        documents = {
            title: rows.make_document(workspace, title, text, names=names)
            for title, text in texts.items()
        }
        rows.make_snapshot(workspace)
        query = Query(workspace.pk, question, 5, QuestionVector(EMBEDDER, question))
        ids = {title: rows.chunks_of(document)[0].pk for title, document in documents.items()}
        with access.in_workspace(workspace.pk):
            index = snapshots.newest(query)
            assert index is not None
            start = walking.seeds(index, question)
            scores = walking.walk(index, start)
            why = reasons(workspace.pk, index, start, scores, list(ids.values()))
        return {title: why[chunk_id] for title, chunk_id in ids.items()}

    return ask


def test_a_name_of_the_question_is_the_reason(walked):
    assert walked("What of Ada Lind?")["one"] == ("Mentions “Ada Lind”",)


def test_else_the_name_that_led_on_is(walked):
    assert walked("What of Ada Lind?")["two"] == ("Reached through “Voar”",)


def test_where_no_name_led_there_it_is_only_near(walked):
    assert walked("What of Ada Lind?")["three"] == NEAR


def test_a_few_names_are_enough(walked):
    (reason,) = walked("What of Ada Lind, Per Holm, Voar and Strand?")["one"]

    assert reason.count("“") == SHOWN
