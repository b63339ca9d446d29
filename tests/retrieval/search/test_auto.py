from __future__ import annotations

import pytest

from ingestion.models import WalkSnapshot
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import paths, services
from retrieval.search.auto import Known, choose, telling_names
from retrieval.search.modes import DEFAULT_MODE, MODES
from retrieval.search.query import QuestionVector
from tests import rows
from tests.retrieval.search import routed
from workspaces import access

EMBEDDER = FakeEmbedder()
INDEX = routed.index()
TEXT = "Ada Lind keeps the Skarrow light.\n\nBen Voss taught Ada Lind.\n\nOil comes by boat."


def known(question):
    is_between = paths.asked_ends(INDEX, question) is not None
    return Known(telling_names(INDEX, question), is_between=is_between)


def search(workspace, question, **over):
    vector = QuestionVector(EMBEDDER, question)
    return services.search(
        workspace=workspace, question=question, mode="auto", top_k=5, vector=vector, **over
    )


@pytest.fixture
def workspace():
    workspace = rows.make_workspace()
    rows.make_document(
        workspace,
        "Ada Lind",
        TEXT,
        embedder=EMBEDDER,
        names={"Ada Lind": "person", "Ben Voss": "person"},
    )
    rows.make_snapshot(workspace)
    return workspace


@pytest.mark.parametrize(("mode", "question"), routed.ROUTED)
def test_a_question_is_answered_in_the_way_that_suits_it(mode, question):
    assert choose(question, known(question)).mode == mode


@pytest.mark.parametrize(("_mode", "question"), routed.ROUTED)
def test_the_reason_is_one_sentence(_mode, question):
    reason = choose(question, known(question)).reason

    assert reason.endswith(".")
    assert reason[0].isupper()
    assert ". " not in reason


def test_every_way_that_is_picked_exists():
    assert {mode for mode, _ in routed.ROUTED} <= set(MODES)


def test_it_is_the_standard_way():
    assert DEFAULT_MODE == "auto"


@pytest.mark.parametrize("question", [*routed.GLOBAL, *routed.DRIFT])
def test_topics_without_reports_are_never_picked(question):
    choice = choose(question, Known(telling_names(INDEX, question), has_reports=False))

    assert choice.mode not in ("global", "drift")


@pytest.mark.parametrize("question", [question for _, question in routed.ROUTED])
def test_without_a_graph_nothing_that_needs_it_is_picked(question):
    assert choose(question, Known(has_graph=False, has_reports=False)).mode == "hybrid"


@pytest.mark.parametrize(
    "question",
    [
        "How is Jamie Flett connected to the weather?",
        "How is Jamie Flett related to Jamie Flett?",
        "What links Old Bob to the man who founded Norholm Wind?",
        "What is the relationship between Skarrow and its keepers?",
        "沈立群和他的父亲有什么关系？",
    ],
)
def test_a_question_without_two_known_names_is_not_about_paths(question: str):
    assert choose(question, known(question)).mode != "paths"


def test_the_reason_names_what_the_walk_starts_from():
    question = "Did Corrigan Marine and Vellacott Lens Works both work on Skarrow?"

    reason = choose(question, known(question)).reason

    assert reason.startswith("Names “Corrigan Marine” and “Vellacott Lens Works” and more,")


def test_in_long_documents_one_name_is_looked_up_by_meaning_and_words():
    question = "Why did Erik Budge leave?"

    choice = choose(question, Known(("Erik Budge",), is_titled=False))

    assert choice.mode == "hybrid"
    assert "“Erik Budge”" in choice.reason


def test_in_long_documents_the_walk_is_for_questions_between_names():
    names = ("Elspeth Rennie", "Gordon Rennie")

    assert (
        choose("Who is older, Elspeth Rennie or Gordon Rennie?", Known(names, is_titled=False)).mode
        == "walk"
    )
    assert choose("Did Elspeth Rennie pay Gordon Rennie?", Known(names, is_titled=False)).mode == (
        "hybrid"
    )


@pytest.mark.django_db
def test_a_title_among_the_names_makes_the_walk_worth_while():
    workspace = rows.make_workspace()
    rows.make_document(
        workspace,
        "Ada Lind (keeper)",
        "Ada Lind kept a light.\n\nShe lived on the rock.\n\nShe wrote a log.",
        embedder=EMBEDDER,
        names={"Ada Lind": "person"},
    )
    paragraphs = (f"Paragraph {number} is on oil." for number in range(8))
    rows.make_document(
        workspace,
        "Oil",
        "\n\n".join(["Ben Voss sells oil.", *paragraphs]),
        embedder=EMBEDDER,
        names={"Ben Voss": "person"},
    )
    rows.make_snapshot(workspace)

    assert search(workspace, "When did Ben Voss come?").mode.name == "hybrid"
    assert search(workspace, "When did Ada Lind come?").mode.name == "walk"


def test_a_name_that_is_everywhere_tells_nothing():
    assert telling_names(INDEX, "What does the Trust want?") == ()


def test_a_common_noun_is_no_name():
    assert telling_names(INDEX, "Which logbook did the supplier keep?") == ()


def test_a_long_name_is_cut_in_the_reason():
    reason = choose("x", Known(("N" * 500,))).reason

    assert len(reason) < 200


def test_one_word_of_programmers_does_not_turn_a_question_between_names():
    question = "Which class did Gordon Rennie's daughter teach, or was it Elspeth Rennie's?"

    assert choose(question, known(question)).mode == "walk"


@pytest.mark.parametrize(
    "question",
    [
        "?!",
        "a",
        "的",
        "' OR 1=1 --",
        "(((",
        "Who is",
        "谁" * 3000,
        "how has what of who the same " * 130,
    ],
)
def test_odd_questions_are_routed_too(question):
    assert choose(question, known(question)).mode in MODES


@pytest.mark.django_db
def test_it_hands_over_and_says_to_what_and_why(workspace):
    found = search(workspace, "Who taught Ada Lind?")

    assert found.mode.name == "walk"
    assert found.found.reason.startswith("Names “Ada Lind”")
    assert found.hits


@pytest.mark.django_db
def test_where_the_graph_is_missing_it_says_so(workspace):
    with access.in_workspace(workspace.pk):
        WalkSnapshot.objects.in_workspace(workspace).delete()

    found = search(workspace, "Who taught Ada Lind?")

    assert found.mode.name == "hybrid"
    assert "built yet" in found.found.reason
    assert "graph_pending" in [note.code for note in found.notes]


@pytest.mark.django_db
def test_what_it_finds_is_what_the_way_it_picks_finds(workspace):
    question = "Who taught Ada Lind?"
    itself = services.search(
        workspace=workspace,
        question=question,
        mode="walk",
        top_k=5,
        vector=QuestionVector(EMBEDDER, question),
    )

    found = search(workspace, question)

    assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in itself.hits]


@pytest.mark.django_db
def test_another_workspace_gives_it_no_names(workspace):
    other = rows.make_workspace("Other")
    rows.make_document(other, "Roads", "The road is closed.", embedder=EMBEDDER)
    rows.make_snapshot(other)

    assert search(other, "Who taught Ada Lind?").mode.name == "hybrid"
