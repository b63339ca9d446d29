from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from ingestion.curation.effects import (
    FIGURES,
    Effect,
    State,
    Verb,
    between,
    of_documents,
)
from ingestion.documents.lifecycle import documents_trash
from ingestion.history.recording import ChangeContext
from ingestion.models import Evidence, Mention
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import all_of
from workspaces import access

A, B, C, D = (UUID(int=number) for number in range(4))


def state(mentions: str = "", links: str = "") -> State:
    by = dict(zip("ABCD", (A, B, C, D), strict=True))
    return State(
        frozenset((by[one[0]], one[1:]) for one in mentions.split()),
        frozenset((by[one[0]], by[one[1]]) for one in links.split()),
    )


@pytest.mark.parametrize(
    ("effect", "sentence"),
    [
        (Effect(), ""),
        (Effect(verb=Verb.SHELVE), ""),
        (Effect(mentions=1), "1 mention moves."),
        (Effect(facts=1, mentions=1), "1 fact and 1 mention move."),
        (
            Effect(facts=37, mentions=52, duplicates=3, reports=2),
            "37 facts and 52 mentions move; 3 become duplicates; 2 reports will be rewritten.",
        ),
        (
            Effect(facts=2, self_loops=2),
            "2 facts move; 2 would link it to itself and are dropped.",
        ),
        (Effect(verb=Verb.HIDE, facts=1), "1 fact is hidden."),
        (Effect(verb=Verb.RETURN, mentions=1200), "1,200 mentions move back."),
        (Effect(reports=1), "1 report will be rewritten."),
        (
            Effect(verb=Verb.RESTORE, passages=2, facts=3),
            "2 passages can be searched again; 3 facts come back.",
        ),
        (Effect(verb=Verb.RESTORE, passages=1), "1 passage can be searched again."),
        (
            Effect(verb=Verb.SHELVE, passages=212, facts=31, kept_facts=9, entities=1, reports=4),
            "212 passages are no longer searched; 31 facts lose their only source and are hidden;"
            " 9 keep other sources; 1 entity appears nowhere else; 4 reports will be rewritten.",
        ),
        (
            Effect(verb=Verb.SHELVE, passages=1, facts=1, kept_facts=1),
            "1 passage is no longer searched; 1 fact loses its only source and is hidden; 1 keeps"
            " other sources.",
        ),
    ],
)
def test_figures_become_a_sentence(effect: Effect, sentence: str):
    assert effect.sentence == sentence


@given(
    st.builds(
        Effect,
        verb=st.sampled_from(Verb),
        **{name: st.integers(min_value=0, max_value=3000) for name in FIGURES},
    )
)
def test_every_sentence_is_one(effect: Effect):
    assert not effect.sentence or effect.sentence[0] in "0123456789"
    assert not effect.sentence or effect.sentence.endswith(".")
    assert "  " not in effect.sentence
    assert set(effect.figures) == set(FIGURES)


def test_a_merge_moves_what_was_anothers():
    before = state("A1 B2 B3", "BC AC BA DB")
    after = state("A1 A2 A3", "AC DA")

    effect = between(before, after, joined=[A, B])

    assert (effect.mentions, effect.facts) == (2, 3)
    assert (effect.duplicates, effect.self_loops) == (1, 1)


def test_what_comes_back_counts_as_much_as_what_went():
    before, after = state("A1 A2", "AC"), state("A1 B2", "AC BC")

    there, back = between(before, after), between(after, before)

    assert (there.mentions, there.facts) == (back.mentions, back.facts) == (1, 1)


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_trashing_documents_does_what_was_said(media: Path):
    desk = Desk(rows.make_cast())
    going = [desk.document(name) for name in ("a", "b", "d")]
    before = desk.state()

    with access.in_workspace(desk.workspace.pk):
        effect = of_documents(desk.workspace, [one.pk for one in going])
    assert desk.state() == before
    mentions, facts = sum(desk.mentions().values()), set(desk.links())
    entities = set(desk.names())
    documents_trash(change=ChangeContext(desk.workspace, desk.cast.alice), documents=going)

    assert effect.passages == 3
    assert effect.mentions == mentions - len(all_of(desk.workspace, Mention, "pk"))
    assert effect.facts == len(facts - set(desk.links()))
    assert effect.entities == len(entities - set(desk.names()))
    assert effect.kept_facts == 0
    assert len(all_of(desk.workspace, Evidence, "pk")) == 2
