from __future__ import annotations

import pytest

from ingestion.models import Chunk
from kb_project.graph import walk as walking
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import walk
from retrieval.search.query import Query, QuestionVector
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

NAMES = ("Ada Lind", "Per Holm", "Skarrow Light", "Tide Song", "Otto Berg")
TEXTS = {
    "First": "Ada Lind wrote to Per Holm.",
    "Second": "Per Holm mended the road.",
    "Third": "Nobody is named in this one.",
    "Fourth": "Ada Lind, Per Holm, Skarrow Light and Tide Song were all there.",
}


@pytest.fixture
def workspace():
    workspace = rows.make_workspace()
    for title, text in TEXTS.items():
        found = {name: "PERSON" for name in NAMES if name in text}
        rows.make_document(workspace, title, text, names=found)
    rows.make_snapshot(workspace)
    return workspace


def why(workspace, question):
    """The reasons of every passage, by its title, for a walk from the question's names."""
    query = Query(workspace.pk, question, 5, QuestionVector(FakeEmbedder(), question))
    with access.in_workspace(workspace.pk):
        index = walk.newest_index(query)
        assert index is not None
        start = walking.seeds(index, question)
        scores = walking.walk(index, start)
        ranked = [(chunk_id, 1.0) for chunk_id in index.chunk_ids]
        explained = walk.explained(query, index, start, scores, ranked)
        found = {one.chunk_id: one.why for one in explained}
        chunks = Chunk.objects.in_workspace(workspace).values_list("pk", "context")
        return {title: found[chunk_id] for chunk_id, title in chunks}


def test_a_passage_that_mentions_a_name_of_the_question_says_which(workspace):
    assert why(workspace, "What did Ada Lind do?")["First"] == ("Mentions “Ada Lind”",)


def test_a_passage_one_name_away_says_which_name_led_there(workspace):
    assert why(workspace, "What did Ada Lind do?")["Second"] == ("Reached through “Per Holm”",)


def test_a_passage_that_names_nobody_is_only_near(workspace):
    assert why(workspace, "What did Ada Lind do?")["Third"] == ("Close to the question",)


def test_several_names_are_told_in_one_sentence(workspace):
    (reason,) = why(workspace, "Did Ada Lind know Per Holm?")["First"]

    assert reason.startswith("Mentions “")
    assert {"Ada Lind", "Per Holm"} == {name for name in NAMES if f"“{name}”" in reason}


def test_no_more_names_are_told_than_a_reader_takes_in(workspace):
    question = "Were Ada Lind, Per Holm, Skarrow Light and Tide Song there?"

    (reason,) = why(workspace, question)["Fourth"]

    assert reason.count("“") == walk.SHOWN


def test_every_passage_gets_a_reason_even_where_no_name_is_asked_for(workspace):
    found = why(workspace, "what is it all about?")

    assert set(found) == set(TEXTS)
    assert all(reason and reason[0] for reason in found.values())
    assert not any("Mentions" in reason[0] for reason in found.values())
