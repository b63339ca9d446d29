"""How an answer was found."""

from __future__ import annotations

from uuid import uuid4

import pytest

from retrieval.conversations.presenters.explain import explained, figure_groups, keywords_of
from retrieval.models import Answer
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast():
    return rows.make_cast()


def shown(cast, trace):
    with access.in_workspace(cast.workspace.pk):
        return explained(workspace=cast.workspace, answer=Answer(trace=trace))


def test_nothing_is_shown_of_what_the_trace_does_not_tell(cast):
    found = shown(cast, {})

    assert (found.steps, found.seeds, found.records, found.ranked) == ((), (), (), ())
    assert (found.shares, found.figure_groups, found.keywords) == ((), (), ())
    assert (found.question, found.asked_mode) == ("", "")


def test_the_plan_says_what_was_looked_for_and_who_chose_the_way(cast):
    plan = {
        "question": "Who kept Skarrow Light?",
        "is_rewritten": True,
        "asked_mode": "hybrid",
        "mode": "walk",
        "keywords": {"high": ["keeping"], "low": ["light"]},
    }

    found = shown(cast, {"plan": plan})

    assert found.question == "Who kept Skarrow Light?"
    assert found.asked_mode == "Hybrid"
    assert found.keywords == ("keeping", "light")


def test_a_question_that_was_not_worded_anew_is_not_repeated(cast):
    plan = {"question": "Who?", "is_rewritten": False, "asked_mode": "walk", "mode": "walk"}

    found = shown(cast, {"plan": plan})

    assert (found.question, found.asked_mode) == ("", "")


def test_keywords_may_be_a_list_or_two_lists():
    assert list(keywords_of(["oil", "light"])) == ["oil", "light"]
    assert list(keywords_of([])) == []


def test_seeds_that_are_entities_lead_to_their_page(cast):
    entity = rows.make_entity(cast.workspace, "Ada Lind")

    named, word = shown(
        cast,
        {
            "seeds": [
                {"kind": "entity", "id": str(entity.pk), "name": "Ada Lind", "weight": 1},
                {"kind": "keyword", "id": None, "name": "oil", "weight": 0.2},
            ]
        },
    ).seeds

    assert named.url.endswith(f"/entities/{entity.pk}/")
    assert (word.kind, word.name, word.url) == ("keyword", "oil", "")


def test_passages_are_named_by_their_documents_and_open_in_the_reader(cast):
    document = rows.make_document(cast.workspace, "The log", "Oil came in spring.")
    (chunk,) = rows.chunks_of(document)
    ranked = [
        {
            "number": 1,
            "chunk": str(chunk.pk),
            "document": str(document.pk),
            "score": 0.031249,
            "why": ["Mentions “oil”"],
            "tokens": 1210,
            "used": True,
        },
        {"number": 2, "chunk": str(uuid4()), "score": 0.1},
    ]

    first, gone = shown(cast, {"ranked": ranked}).ranked

    assert (first.title, first.score, first.tokens) == ("The log", "0.0312", "1,210")
    assert first.url.endswith(f"/documents/{document.pk}/?start=0&end=19")
    assert (first.why, first.is_used) == (("Mentions “oil”",), True)
    assert (gone.title, gone.url, gone.tokens) == ("A deleted passage", "", "")


def test_records_say_their_kind_and_whether_they_were_used(cast):
    records = [
        {"kind": "report", "id": None, "title": "Oil", "score": 3, "tokens": 40, "used": False}
    ]

    (record,) = shown(cast, {"records": records}).records

    assert (record.kind, record.title, record.is_used) == ("report", "Oil", False)


def test_a_section_never_fills_more_than_its_bar(cast):
    sections = [
        {"name": "passages", "items": 3, "tokens": 900, "budget": 4000},
        {"name": "points", "items": 1, "tokens": 50, "budget": 0},
    ]

    passages, points = shown(cast, {"sections": sections}).shares

    assert (passages.name, passages.summary) == ("Passages", "900 of 4,000 tokens · 3 items")
    assert (points.name, points.budget, points.summary) == (
        "Partial answers",
        50,
        "50 of 50 tokens · 1 item",
    )


def test_calls_citations_and_checks_are_counted():
    groups = dict(
        figure_groups(
            {
                "calls": {"count": 2, "cached": 0, "prompt_tokens": 5000, "cost": 0.0034},
                "citations": {"kept": 3, "invented": 1},
                "check": {"by": "judge", "supported": 3, "unsupported": 0},
            }
        )
    )

    assert [(one.label, one.value) for one in groups["Models"]] == [
        ("Model calls", "2"),
        ("of them from the cache", "0"),
        ("Tokens sent", "5,000"),
        ("Cost", "0.0034"),
    ]
    assert [one.value for one in groups["Citations"]] == ["3", "1"]
    assert [one.value for one in groups["Sentences"]] == ["3", "0", "judge"]


@pytest.mark.parametrize("cost", [None, "", 0, "free"])
def test_calls_without_a_price_have_no_cost(cost):
    (group,) = figure_groups({"calls": {"count": 1, "cost": cost}})

    assert [one.label for one in group[1]] == ["Model calls"]
