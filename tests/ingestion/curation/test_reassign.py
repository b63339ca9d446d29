"""Which rulings say of chosen mentions that they mean something else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ingestion.curation.merging import entities_merge
from ingestion.curation.splitting import (
    SelectableMention,
    Selection,
    chosen_of,
    entity_split,
    placements_for,
)
from ingestion.models import Mention, MentionPlacement
from kb_project.errors import ConflictError
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN = "acme inc", "acme ltd", "ada lind", "orran"


@pytest.fixture
def desk(media: Path) -> Desk:
    """Ada Lind is named twice in 'twice', beside what the other papers say."""
    made = Desk(rows.make_cast())
    run(paper(made.workspace, "twice", Said([("Ada Lind", "person"), ("Ada Lind", "person")])))
    return made


def chosen(desk: Desk, key: str, selection: Selection) -> tuple[list[SelectableMention], int]:
    with access.in_workspace(desk.workspace.pk):
        return chosen_of(desk.entity(key), selection)


def rulings(desk: Desk, key: str, selection: Selection) -> list[MentionPlacement]:
    with access.in_workspace(desk.workspace.pk):
        spots, _ = chosen_of(desk.entity(key), selection)
        return placements_for(desk.entity(key), spots, selection)


def said(placed: Sequence[MentionPlacement]) -> list[list[str]]:
    """Of each ruling the columns that narrow it."""
    columns = ("own_key", "document_id", "chunk_id", "offset")
    return [[name for name in columns if getattr(one, name) not in ("", None)] for one in placed]


def mentions_of(desk: Desk, key: str, document: str = "") -> list[Mention]:
    with access.in_workspace(desk.workspace.pk):
        rows_ = Mention.objects.in_workspace(desk.workspace).filter(entity=desk.id(key))
        if document:
            rows_ = rows_.filter(document=desk.document(document))
        return list(rows_.order_by("document__name", "start"))


def test_nothing_chosen_is_nothing(desk: Desk):
    selection = Selection()

    assert selection.is_empty
    assert chosen(desk, ADA, selection) == ([], 4)
    assert rulings(desk, ADA, selection) == []


def test_whatever_of_it_is_in_a_document_is_chosen(desk: Desk):
    spots, total = chosen(desk, ADA, Selection(documents=[desk.document("twice").pk]))

    assert (len(spots), total) == (2, 4)
    assert {spot.position.document_id for spot in spots} == {desk.document("twice").pk}


def test_a_mention_is_chosen_once_however_often_it_is_pointed_at(desk: Desk):
    one = mentions_of(desk, ADA, "a")[0]
    selection = Selection(
        documents=[one.document_id], chunks=[one.chunk_id], mentions=[one.pk], aliases=["Nobody"]
    )

    spots, _ = chosen(desk, ADA, selection)

    assert [spot.id for spot in spots] == [one.pk]


def test_documents_that_do_not_name_it_choose_nothing(desk: Desk):
    assert chosen(desk, ADA, Selection(documents=[desk.document("e").pk, uuid4()]))[0] == []


def test_a_mention_of_another_is_not_there(desk: Desk):
    other = mentions_of(desk, LTD)[0]

    with pytest.raises(ConflictError) as refused:
        chosen(desk, ADA, Selection(mentions=[other.pk, uuid4()]))

    assert refused.value.code == "mentions_changed"
    assert refused.value.happened.startswith("2 of the selected mentions")


# --- the rulings ----------------------------------------------------------------------------------
def test_a_whole_document_is_named_as_one(desk: Desk):
    placed = rulings(desk, ADA, Selection(documents=[desk.document("twice").pk]))

    assert said(placed) == [["document_id"]]
    assert [one.key for one in placed] == [ADA]


def test_each_of_several_documents_is_named(desk: Desk):
    documents = [desk.document(name).pk for name in ("twice", "a")]

    placed = rulings(desk, ADA, Selection(documents=documents))

    assert said(placed) == [["document_id"], ["document_id"]]
    assert {one.document_id for one in placed} == set(documents)


def test_a_passage_is_named_with_its_document(desk: Desk):
    one = mentions_of(desk, ADA, "twice")[0]

    placed = rulings(desk, ADA, Selection(chunks=[one.chunk_id]))

    assert said(placed) == [["document_id", "chunk_id"]]


def test_single_mentions_are_named_by_their_places(desk: Desk):
    first, _ = mentions_of(desk, ADA, "twice")

    placed = rulings(desk, ADA, Selection(mentions=[first.pk]))

    assert said(placed) == [["own_key", "document_id", "chunk_id", "offset"]]
    assert placed[0].offset == 0


def test_a_name_is_named_wherever_it_is_used(desk: Desk):
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    placed = rulings(desk, LTD, Selection(aliases=["Acme Inc"]))

    assert said(placed) == [["own_key"]]
    assert (placed[0].key, placed[0].own_key) == (INC, INC)


def test_of_a_group_both_names_in_a_document_are_named(desk: Desk):
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    placed = rulings(desk, LTD, Selection(documents=[desk.document("c").pk]))

    assert sorted(one.key for one in placed) == [INC, LTD]
    assert said(placed) == [["document_id"], ["document_id"]]


def test_a_wide_ruling_is_not_made_where_a_closer_one_stands_against_it(desk: Desk):
    first, second = mentions_of(desk, ADA, "twice")
    entity_split(
        change=desk.change(), entity=desk.id(ADA), selection=Selection(mentions=[first.pk]),
        name="Ada the Elder",
    )  # fmt: skip
    left = mentions_of(desk, ADA, "twice")
    assert len(left) == 1

    placed = rulings(desk, ADA, Selection(documents=[desk.document("twice").pk]))

    assert second.start == left[0].start
    assert [one.offset for one in placed] == [left[0].start - first.start]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_rulings_cover_just_what_is_chosen(desk: Desk, data: st.DataObject):
    if INC in desk.names():
        entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])
    mentions = mentions_of(desk, LTD)
    selection = Selection(
        documents=data.draw(some([one.document_id for one in mentions])),
        chunks=data.draw(some([one.chunk_id for one in mentions])),
        aliases=data.draw(st.sets(st.sampled_from(["Acme Ltd", "Acme Inc"]))),
        mentions=data.draw(some([one.pk for one in mentions])),
    )

    spots, total = chosen(desk, LTD, selection)
    placed = rulings(desk, LTD, selection)

    assert total == len(mentions)
    everything, _ = chosen(desk, LTD, Selection(mentions=[one.pk for one in mentions]))
    covered = {
        spot.id
        for spot in everything
        if any(one.key == spot.key and one.covers(spot.position) for one in placed)
    }
    assert covered == {spot.id for spot in spots}


def some(ids: Sequence[UUID]) -> st.SearchStrategy[set[UUID]]:
    return st.sets(st.sampled_from(sorted(set(ids))), max_size=2)
