from __future__ import annotations

from dataclasses import replace

import pytest

from kb_project.llm.fake import FakeEmbedder
from retrieval.search import support
from retrieval.search.answer import Scored
from retrieval.search.assemble import sentences
from retrieval.search.query import Query, QuestionVector
from retrieval.search.support import judge
from retrieval.search.weights import Weights
from tests import rows
from tests.retrieval.search.test_assemble import hit
from workspaces import access

EMBEDDER = FakeEmbedder()


def judged(*, known, coverage, nearness):
    (sentence,) = sentences([hit("Ada Lind keeps the light.")], {})
    weights = Weights({"light": 1.0}, known)
    return judge([Scored(sentence, 1.0, coverage, names_kind=False)], weights, nearness).is_enough


def test_a_question_known_in_full_and_nearer_than_everyday_ones_is_answered():
    assert judged(known=1.0, coverage=0.8, nearness=0.05)


def test_an_unknown_name_is_outweighed_only_by_a_near_passage():
    assert not judged(known=0.5, coverage=0.5, nearness=0.03)
    assert judged(known=0.7, coverage=0.5, nearness=0.09)


def test_a_question_as_near_as_everyday_ones_is_not_answered():
    assert not judged(known=1.0, coverage=0.8, nearness=-0.01)


def test_a_sentence_that_covers_next_to_nothing_is_no_answer():
    assert not judged(known=1.0, coverage=0.05, nearness=0.2)


def test_without_vectors_the_words_have_to_do():
    assert judged(known=0.9, coverage=0.5, nearness=None)
    assert not judged(known=0.7, coverage=0.5, nearness=None)
    assert not judged(known=0.9, coverage=0.2, nearness=None)


def test_nothing_chosen_is_no_answer():
    assert not judge([], Weights({}, 1.0), 0.5).is_enough


@pytest.fixture
def query():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", "Ada Lind keeps the light.", embedder=EMBEDDER)
    question = "Who keeps the light?"
    return Query(workspace.pk, question, 5, QuestionVector(EMBEDDER, question))


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_nearness_compares_with_questions_in_the_same_script(query):
    english = support.everyday_vectors(query)
    chinese = support.everyday_vectors(replace(query, question="谁看守灯塔？"))

    with access.in_workspace(query.workspace_id):
        nearness = support.nearness(query, english)

    assert len(english) == len(chinese) == 6
    assert english != chinese
    assert nearness is not None
    assert nearness > 0.1


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_without_vectors_there_is_no_nearness():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", "Ada Lind keeps the light.")
    query = Query(workspace.pk, "light", 5, QuestionVector(EMBEDDER, "light"))

    with access.in_workspace(workspace.pk):
        assert support.nearness(query, support.everyday_vectors(query)) is None


@pytest.mark.django_db
def test_frequencies_count_the_passages_that_hold_a_term(query):
    with access.in_workspace(query.workspace_id):
        found = support.frequencies(query, ["light", "ada", "zeppelin"])

    assert found == {"light": 1, "ada": 1}
