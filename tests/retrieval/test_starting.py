from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.models import CommunityReport
from retrieval import questions, starting
from retrieval.starting import Topic, by_template
from tests import rows
from workspaces import access
from workspaces.models import Workspace

NAMES = {"Ada Lind": "person", "Skarrow Light": "place", "Bram Oost": "person"}
TEXT = "Ada Lind kept Skarrow Light.\n\nBram Oost bought the oil."


@pytest.fixture
def workspace() -> Workspace:
    workspace = rows.make_workspace()
    document = rows.make_document(workspace, "Keepers", TEXT, names=NAMES)
    keeps, oil = rows.chunks_of(document)
    ada, light, bram = (rows.make_entity(workspace, name) for name in NAMES)
    rows.make_relationship(ada, light, keeps, "kept")
    rows.make_report(workspace, "Ada Lind, Skarrow Light", [ada, light], [keeps])
    rows.make_report(workspace, "Bram Oost", [bram, rows.make_entity(workspace, "Thirle")], [oil])
    return workspace


def starters(workspace: Workspace, most: int = 3) -> list[str]:
    with access.in_workspace(workspace.pk):
        return starting.starters(workspace=workspace, most=most)


@pytest.mark.django_db
def test_each_topic_gives_a_question(workspace):
    found = starters(workspace)

    assert len(found) == 2
    assert all(any(name in question for name in NAMES) for question in found)


@pytest.mark.django_db
def test_the_best_rated_topic_comes_first(workspace):
    with access.in_workspace(workspace.pk):
        rows_ = CommunityReport.objects.in_workspace(workspace)
        rows_.filter(title="Bram Oost").update(rating=9, title="The oil trade", written_by="m-1")

    assert starters(workspace)[0] == "What do the documents say about The oil trade?"


@pytest.mark.django_db
def test_topics_of_another_workspace_give_nothing(workspace):
    assert starters(rows.make_workspace("Elsewhere")) == []


@pytest.mark.django_db
def test_starters_cost_one_query(workspace, django_assert_num_queries):
    with access.in_workspace(workspace.pk), django_assert_num_queries(1):
        starting.starters(workspace=workspace, most=3)


@pytest.mark.django_db
def test_an_empty_conversation_begins_with_topics(workspace):
    with access.in_workspace(workspace.pk):
        found = questions.starters(workspace=workspace)

    assert found == starters(workspace)


def test_kinds_of_questions_take_turns():
    topics = [Topic("", f"Name {n}", (f"One {n}", f"Other {n}")) for n in range(3)]

    assert by_template(topics, 3) == [
        "What do the documents say about Name 0?",
        "How is One 1 linked to Other 1?",
        "What do the documents say about Name 2?",
    ]


def test_a_name_is_asked_about_once():
    topics = [Topic("", "Ada", None), Topic("", "ada", ("Ada", "Bram")), Topic("", "Cora", None)]

    assert by_template(topics, 3) == [
        "What do the documents say about Ada?",
        "What do the documents say about Cora?",
    ]


def test_chinese_topics_are_asked_about_in_chinese():
    assert by_template([Topic("", "朱元璋", None)], 3) == ["关于朱元璋，文件里说了什么？"]


TEXTS = st.text(max_size=80)


@given(st.lists(st.builds(Topic, TEXTS, TEXTS, st.none() | st.tuples(TEXTS, TEXTS))))
def test_there_are_never_more_than_asked_for_nor_two_alike(topics):
    found = by_template(topics, 3)

    assert len(found) <= 3
    assert len(set(found)) == len(found)
