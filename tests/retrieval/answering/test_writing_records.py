"""Answers that rest on records and points, or on what is generally known."""

from __future__ import annotations

import re
from dataclasses import replace
from uuid import uuid4

import pytest

from ingestion.models import Chunk
from kb_project.llm.ports import ModelOptions
from retrieval.answering import writing
from retrieval.answering.drafts import Asking
from retrieval.search.results import ModeResult, Point, Record, RecordKind, Shares
from tests.retrieval.answering import scripted
from tests.retrieval.answering.scripted import Told, answer_prompt, asked, make_cast, model
from workspaces import access
from workspaces.ports import ports_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

ALL = Shares(passages=0.4, records=0.2, reports=0.2, points=0.2)


@pytest.fixture
def cast(fake_embedder):
    return make_cast()


def chunk(cast, words):
    with access.in_workspace(cast.workspace.pk):
        return Chunk.objects.in_workspace(cast.workspace).get(text__contains=words)


def written(cast, monkeypatch, answer, *, records=(), points=(), question="Skarrow?"):
    """An answer in a mode that found these besides the passages with the question's words."""
    chat = model(monkeypatch, answer)
    result = scripted.services.search(
        workspace=cast.workspace, question=question, mode="lexical", top_k=3
    )
    mode = replace(result.mode, shares=ALL)
    found = ModeResult(result.found.chunks, tuple(records), tuple(points))
    asking = Asking(cast.workspace, uuid4(), question, "lexical")
    result = replace(result, mode=mode, found=found)
    return writing.write(asking, result, chat, Told()), chat


def record(kind, text, *chunks):
    return Record(RecordKind(kind), uuid4(), "Fuel", text, tuple(one.pk for one in chunks))


def test_a_record_is_cited_by_the_passage_behind_it(cast, monkeypatch):
    oil, road = chunk(cast, "burns oil"), chunk(cast, "quarry road")
    fuel = record("entity", "The lamp's fuel is oil.", road, oil)

    draft, _ = written(cast, monkeypatch, "The lamp burns oil [E1].", records=[fuel])

    [citation] = draft.citations
    assert citation.chunk_id == oil.pk
    assert citation.quote == "The lamp burns oil, which the boat brings on Fridays."
    assert draft.sentences[0].check.verdict == "supported"
    [told] = draft.trace["records"]
    assert (told["kind"], told["used"]) == ("entity", True)


def test_a_passage_that_was_not_shown_is_numbered_after_the_last(cast, monkeypatch):
    fuel = record("report", "Fuel is oil.", chunk(cast, "burns oil"))

    draft, _ = written(cast, monkeypatch, "The lamp burns oil [T1].", records=[fuel])

    shown = {one["number"] for one in draft.trace["ranked"]}
    [citation] = draft.citations
    assert citation.number == len(shown) + 1


def test_points_are_sorted_by_score_and_cited_by_what_they_rest_on(cast, monkeypatch):
    report = record("report", "Fuel is oil.", chunk(cast, "burns oil"))
    points = [
        Point("Nine is low.", 9, records=(report.id,)),
        Point("A hundred is high [T4].", 100, records=(report.id,)),
    ]

    draft, chat = written(
        cast, monkeypatch, "The lamp burns oil [T1].", records=[report], points=points
    )

    said = re.findall(
        r"importance (\d+) of 100, rests on (\S+):\n<point>\n(.*)", answer_prompt(chat)
    )
    assert said == [("100", "[T1]", "A hundred is high."), ("9", "[T1]", "Nine is low.")]
    assert len(draft.citations) == 1


def test_a_record_whose_passages_are_gone_is_not_given_out(cast, monkeypatch):
    gone = Record(RecordKind.ENTITY, uuid4(), "Ghost", "A ghost.", (uuid4(),))

    draft, chat = written(cast, monkeypatch, "There is a ghost [E1].", records=[gone])

    assert "Ghost" not in answer_prompt(chat)
    assert draft.citations == []
    assert draft.trace["citations"]["foreign"] == 1


@pytest.mark.parametrize("is_allowed", [True, False])
def test_general_knowledge_is_told_apart_where_it_is_allowed(cast, monkeypatch, is_allowed):
    chat = model(monkeypatch, "Ada Lind keeps the Skarrow light [1]. Lamps need fuel. [G]")
    options = ModelOptions(allows_general=is_allowed, wants_judge=False)
    monkeypatch.setattr(
        writing, "ports_for", lambda pk: replace(ports_for(pk), chat=chat, options=options)
    )
    told = Told()

    draft = asked(cast, told=told)

    verdicts = [one.check.verdict for one in draft.sentences]
    assert verdicts[1] == ("general" if is_allowed else "unsupported")
    assert told.text.endswith("[G]") is is_allowed
    [request] = [one for one in chat.requests if one.prompt.name == "answer"]
    assert ("generally known" in request.prompt.system) is is_allowed


def test_without_the_judge_no_model_is_asked_to_judge(cast, monkeypatch):
    chat = model(monkeypatch, "The keeper of the light is called Ada [1].")
    options = ModelOptions(wants_judge=False)
    monkeypatch.setattr(
        writing, "ports_for", lambda pk: replace(ports_for(pk), chat=chat, options=options)
    )

    draft = asked(cast)

    assert draft.trace["check"]["by"] == "likeness"
    assert "problem" not in draft.trace["check"]
    assert len(scripted.roles(chat)) == 1
