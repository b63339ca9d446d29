from __future__ import annotations

import pytest

from kb_project.errors import EndpointError
from kb_project.llm.fake import FakeEmbedder
from retrieval.answering import writing
from retrieval.search.modes import MODES
from retrieval.search.reporting import EventKind
from retrieval.search.scope import Scope
from tests import rows
from tests.retrieval.answering.scripted import Told, asked, make_cast, model, number_of
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

FIGURES = {
    "plan",
    "seeds",
    "records",
    "ranked",
    "sections",
    "calls",
    "citations",
    "check",
    "notes",
    "total_ms",
}


@pytest.fixture
def cast(fake_embedder):
    return make_cast()


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "local", "walk"])
def test_an_extractive_answer_has_the_numbers_of_the_passages_shown(cast, mode):
    told = Told()

    draft = asked(cast, "What does the lamp burn?", told=told, mode=mode)

    [passages] = [p["passages"] for kind, p in told.events if kind is EventKind.PASSAGES]
    shown = {one["number"]: one for one in passages}
    assert draft.citations
    for one in draft.citations:
        passage = shown[one.number]
        assert passage["chunk"] == str(one.chunk_id)
        inside = passage["text"][one.start - passage["start"] : one.end - passage["start"]]
        assert inside == one.quote
    assert draft.sentences[0].numbers == (number_of(told, "lamp burns"),)


def test_the_trace_of_an_extractive_answer_tells_which_passages_it_uses(cast):
    draft = asked(cast, "What does the lamp burn?", mode="hybrid")

    used = {one["chunk"] for one in draft.trace["ranked"] if one["used"]}
    assert used == {str(one.chunk_id) for one in draft.citations}
    assert used


def test_several_spans_of_one_passage_share_its_number(cast):
    draft = asked(cast, "Who keeps the Skarrow light and came to Skarrow?", mode="hybrid")

    numbers = [one.number for one in draft.citations]
    assert len(numbers) == len(set(numbers))
    spans = {(s.number, s.start, s.end) for one in draft.sentences for s in one.spans}
    listed = {(one.number, *span) for one in draft.citations for span in one.spans}
    assert spans == listed


def test_the_trace_has_the_same_parts_on_both_tiers(cast, monkeypatch):
    local = asked(cast)
    model(monkeypatch, "Ada Lind keeps the light [1].")
    written = asked(cast)

    assert set(local.trace) >= FIGURES
    assert set(written.trace) >= FIGURES
    assert local.trace["check"]["by"] == "quote"
    assert local.trace["calls"]["count"] == 0
    assert local.written_by == "extractive"


def test_an_embedder_that_is_away_after_the_answer_leaves_it_to_words(cast, monkeypatch):
    model(monkeypatch, "The keeper of the Skarrow light is Ada Lind [1].")

    def away(*_):
        raise EndpointError("The endpoint does not answer.")

    monkeypatch.setattr(writing, "Likeness", away)

    draft = asked(cast)

    assert [one.check.by for one in draft.sentences] == ["likeness"]
    assert draft.is_supported


@pytest.mark.parametrize("mode", [name for name in MODES if name != "auto"])
def test_no_transaction_is_open_while_anything_is_embedded(cast, monkeypatch, mode):
    ada = rows.make_entity(cast.workspace, "Ada Lind")
    inside: list[object] = []
    for name in ("embed_question", "embed_passages"):
        real = getattr(FakeEmbedder, name)

        def embed(self, text, *, real=real):
            inside.append(access._inside.get())
            return real(self, text)

        monkeypatch.setattr(FakeEmbedder, name, embed)

    asked(cast, "What does the lamp burn?", mode=mode, scope=Scope(include=(ada.pk,)))

    assert set(inside) <= {None}
