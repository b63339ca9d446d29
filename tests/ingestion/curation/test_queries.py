"""What curators look at before they merge, split or delete."""

from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.curation import queries
from ingestion.curation.entities import entity_create, entity_delete, entity_edit
from ingestion.curation.merging import entities_merge
from ingestion.curation.queries import FormerEntity, MentionInContext, line_of
from ingestion.curation.splitting import Selection, entity_split
from ingestion.curation.undoing import event_undo
from ingestion.models import Chunk, Document, Entity, HistoryEvent, Mention
from kb_project.errors import NotFoundError
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access

INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"
real = pytest.mark.usefixtures("fake_embedder", "media")


# --- a mention with words around it ---------------------------------------------------------------
def line(text: str, name: str, begin: int = 0) -> MentionInContext:
    start = begin + text.index(name)
    chunk = Chunk(text=text, start=begin, end=begin + len(text))
    return line_of(Mention(chunk=chunk, start=start, end=start + len(name), surface=name))


def test_a_short_passage_is_shown_whole_wherever_it_stands():
    shown = line("Then Ada Lind left.", "Ada Lind", begin=500)

    assert (shown.before, shown.after) == ("Then ", " left.")


def test_a_long_passage_is_cut_between_words():
    shown = line(f"{'word ' * 40}Ada Lind{' word' * 40}", "Ada Lind")

    assert shown.before.startswith("…word ")
    assert shown.before.endswith("word ")
    assert shown.after.startswith(" word ")
    assert shown.after.endswith("word…")
    assert len(shown.before) <= queries.AROUND + 1
    assert len(shown.after) <= queries.AROUND + 1


def test_a_passage_without_a_space_is_cut_where_it_must_be():
    shown = line(f"{'x' * 200}Ada{'y' * 200}", "Ada")

    assert shown.before == f"…{'x' * queries.AROUND}"
    assert shown.after == f"{'y' * queries.AROUND}…"


def test_a_mention_that_is_all_there_is_has_nothing_around_it():
    shown = line("Ada Lind", "Ada Lind")

    assert (shown.before, shown.after) == ("", "")


def test_lines_are_joined_and_marks_of_markdown_left_out():
    shown = line("The **keeper**\nwas Ada Lind\nof *Skarrow*", "Ada Lind")

    assert "*" not in shown.before + shown.after
    assert "\n" not in shown.before + shown.after
    assert shown.before.startswith("The keeper")


# --- side by side ---------------------------------------------------------------------------------
@real
def test_cards_come_in_the_order_asked_for_with_facts_of_both_ends(desk: Desk):
    wanted = [desk.entity(ORRAN), desk.entity(LTD)]

    with access.in_workspace(desk.workspace.pk):
        cards = queries.entity_cards(workspace=desk.workspace, entities=wanted)

    assert [card.entity.key for card in cards] == [ORRAN, LTD]
    assert [card.facts for card in cards] == [2, 4]


@real
def test_a_card_names_what_it_is_also_called_but_not_its_own_name(desk: Desk):
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    with access.in_workspace(desk.workspace.pk):
        [card] = queries.entity_cards(workspace=desk.workspace, entities=[desk.entity(LTD)])

    assert card.aliases == ("Acme Inc",)


@real
def test_a_card_quotes_different_documents_first(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        cards = queries.entity_cards(
            workspace=desk.workspace, entities=[desk.entity(ADA), desk.entity(ORRAN)]
        )

    for card in cards:
        documents = {quote.mention.document_id for quote in card.quotes}
        assert len(documents) == len(card.quotes) == queries.QUOTES


@real
def test_what_is_named_nowhere_has_a_card_without_quotes(desk: Desk):
    made = entity_create(change=desk.change(), name="The Trust", type="organization")

    with access.in_workspace(desk.workspace.pk):
        entity = Entity.objects.in_workspace(desk.workspace).get(pk=made.details["entity"])
        [card] = queries.entity_cards(workspace=desk.workspace, entities=[entity])

    assert (card.facts, card.quotes, card.aliases) == (0, (), ())


# --- mentions -------------------------------------------------------------------------------------
@real
def test_names_are_counted_as_written_whatever_they_are_read_as(desk: Desk):
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    with access.in_workspace(desk.workspace.pk):
        used = queries.names_used(workspace=desk.workspace, entity=desk.entity(LTD))

    assert used == [("Acme Ltd", 3), ("Acme Inc", 2)]


@real
def test_documents_that_name_it_most_come_first_and_lines_are_cut_not_counts(desk: Desk):
    often = Said([("Ada Lind", "person")] * 4)
    run(paper(desk.workspace, "often", often))

    with access.in_workspace(desk.workspace.pk):
        found = queries.mentions_by_document(
            workspace=desk.workspace, entity=desk.entity(ADA), most=3
        )

    assert [one.count for one in found] == [4, 1, 1]
    assert found[0].document.name == "often.txt"
    assert sum(len(passage.lines) for one in found for passage in one.passages) == 3


@real
def test_mentions_of_another_workspace_are_nobodys(desk: Desk):
    other = rows.make_workspace("Elsewhere")
    entity = desk.entity(ADA)

    with access.in_workspace(other.pk):
        assert queries.mentions_by_document(workspace=other, entity=entity, most=9) == []
        assert queries.names_used(workspace=other, entity=entity) == []
        with pytest.raises(NotFoundError):
            queries.relationship_get(workspace=other, relationship_id=desk.link(LTD, ADA).pk)


# --- what became of it ----------------------------------------------------------------------------
def gone(desk: Desk, key: str) -> FormerEntity:
    with access.in_workspace(desk.workspace.pk):
        return queries.entity_gone(workspace=desk.workspace, entity_id=desk.id(key))


def merged(desk: Desk, kept: str, other: str) -> HistoryEvent:
    return entities_merge(change=desk.change(), kept=desk.id(kept), others=[desk.id(other)])


@real
def test_what_was_merged_away_leads_to_the_end_of_the_chain(desk: Desk):
    first = merged(desk, LTD, INC)
    second = merged(desk, ORRAN, LTD)

    told = gone(desk, INC)

    assert (told.name, told.event) == ("Acme Inc", first)
    assert told.into is not None
    assert told.into.key == ORRAN
    event_undo(change=desk.change(), event=second)
    back = gone(desk, INC)
    assert back.into is not None
    assert back.into.key == LTD


@real
def test_what_was_deleted_leads_nowhere_and_names_the_event(desk: Desk):
    event = entity_delete(change=desk.change(), entity=desk.id(ADA))

    told = gone(desk, ADA)

    assert (told.name, told.into, told.event) == ("Ada Lind", None, event)


@real
def test_what_is_merged_into_what_is_deleted_leads_nowhere_either(desk: Desk):
    merged(desk, LTD, INC)
    entity_delete(change=desk.change(), entity=desk.id(LTD))

    assert gone(desk, INC).into is None


@real
def test_what_a_split_made_and_was_taken_back_keeps_its_name(desk: Desk):
    chosen = Selection(documents=(desk.document("b").pk,))
    event = entity_split(
        change=desk.change(), entity=desk.id(LTD), selection=chosen, name="Acme of Orran"
    )
    event_undo(change=desk.change(), event=event)

    told = gone(desk, "acme of orran")

    assert told.name == "Acme of Orran"
    assert told.event is not None
    assert told.event.kind == "undo"


@real
def test_what_never_was_is_not_found_nor_is_what_is_a_document(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        document = Document.objects.in_workspace(desk.workspace).order_by("pk")[0]
        for one in (uuid4(), document.pk):
            with pytest.raises(NotFoundError):
                queries.entity_gone(workspace=desk.workspace, entity_id=one)


@real
def test_what_became_of_it_is_not_told_elsewhere(desk: Desk):
    merged(desk, LTD, INC)
    other = rows.make_workspace("Elsewhere")

    with access.in_workspace(other.pk), pytest.raises(NotFoundError):
        queries.entity_gone(workspace=other, entity_id=desk.id(INC))


# --- confirmed ------------------------------------------------------------------------------------
@real
def test_whoever_confirmed_it_is_named_until_that_is_taken_back(desk: Desk):
    event = entity_edit(change=desk.change(desk.cast.bob), entity=desk.id(ADA), is_confirmed=True)

    with access.in_workspace(desk.workspace.pk):
        found = queries.confirmed_in(workspace=desk.workspace, entity=desk.entity(ADA))
        nobody = queries.confirmed_in(workspace=desk.workspace, entity=desk.entity(LTD))

    assert found is not None
    assert (found.pk, found.user, nobody) == (event.pk, desk.cast.bob, None)
    event_undo(change=desk.change(), event=event)
    with access.in_workspace(desk.workspace.pk):
        assert queries.confirmed_in(workspace=desk.workspace, entity=desk.entity(ADA)) is None
