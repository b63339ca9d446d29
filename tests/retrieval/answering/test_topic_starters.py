from __future__ import annotations

from dataclasses import replace

import pytest

from ingestion.models import Community, CommunityReport
from kb_project.llm.fake import FakeChat
from retrieval.answering import suggestions
from tests.retrieval.search.global_search.reef import Reef
from workspaces import access
from workspaces.ports import ports_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(monkeypatch):
    def asked(_):
        raise AssertionError("A page never waits for a model.")

    chat = FakeChat(asked)
    monkeypatch.setattr(suggestions, "ports_for", lambda pk: replace(ports_for(pk), chat=chat))
    return chat


@pytest.fixture
def reef() -> Reef:
    reef = Reef()
    people = [
        reef.document(f"Light {n}", f"Ada {n} keeps the light.", f"Ada {n}") for n in range(3)
    ]
    add_topic(reef, "The light", people, ["How is the light kept?", "Who keeps it in winter?"])
    add_topic(reef, "The road", people[:2], ["Why is the road closed?"])
    add_topic(reef, "The boat", people[:1], None)
    return reef


def add_topic(reef, title, members, questions):
    report = reef.topic(title, {f"{title}.": ["Light 0"]}, members)
    with access.in_workspace(reef.workspace.pk):
        rows = CommunityReport.objects.in_workspace(reef.workspace)
        rows.filter(pk=report.pk).update(questions=questions)


def starters(reef):
    with access.in_workspace(reef.workspace.pk):
        return suggestions.starters(workspace=reef.workspace)


def test_the_largest_topics_each_give_a_question_before_any_gives_a_second(reef, chat):
    assert starters(reef) == [
        "How is the light kept?",
        "Why is the road closed?",
        "Who keeps it in winter?",
    ]
    assert chat.requests == []


def test_a_topic_that_is_gone_asks_nothing(reef, chat):
    with access.in_workspace(reef.workspace.pk):
        Community.objects.in_workspace(reef.workspace).filter(reports__title="The light").delete()

    assert starters(reef) == ["Why is the road closed?"]


def test_without_a_chat_model_questions_are_made_of_passages(reef):
    assert starters(reef) is None


def test_before_the_model_was_asked_questions_are_made_of_passages(reef, chat):
    with access.in_workspace(reef.workspace.pk):
        CommunityReport.objects.in_workspace(reef.workspace).update(questions=None)

    assert starters(reef) is None
