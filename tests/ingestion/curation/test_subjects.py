"""What somebody wants to change: as it is now, why it is not, and which names are taken."""

from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.curation import operation
from ingestion.curation.entities import entity_create, entity_delete, entity_edit
from ingestion.curation.merging import entities_differ, entities_merge
from ingestion.curation.previewing import preview
from ingestion.curation.relationships import relationship_delete
from ingestion.curation.splitting import Selection, entity_split
from ingestion.curation.undoing import event_undo
from ingestion.curation.validation import (
    all_living,
    free_ref,
    living,
    living_link,
    refuse_taken,
)
from ingestion.models import Entity, HistoryEvent, Verdict
from ingestion.resolution.decisions import between, load_resolution
from ingestion.resolution.overrides import in_force
from kb_project.errors import ConflictError, NotFoundError, PreconditionError
from kb_project.text.names import normalise_name
from tests import rows
from tests.ingestion.curation.papers import Desk
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


def merged(desk: Desk, kept: str, other: str) -> HistoryEvent:
    return entities_merge(change=desk.change(), kept=desk.id(kept), others=[desk.id(other)])


def refusal(desk: Desk, key: str) -> ConflictError:
    with access.in_workspace(desk.workspace.pk), pytest.raises(ConflictError) as refused:
        living(desk.workspace, desk.id(key))
    return refused.value


def split(desk: Desk, key: str, document: str, name: str) -> HistoryEvent:
    chosen = Selection(documents=(desk.document(document).pk,))
    return entity_split(change=desk.change(), entity=desk.id(key), selection=chosen, name=name)


# --- as it is now ---------------------------------------------------------------------------------
def test_several_come_in_the_order_in_which_they_are_named(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        found = all_living(desk.workspace, [desk.id(ORRAN), desk.entity(ADA), desk.id(ORRAN)])

    assert [one.key for one in found] == [ORRAN, ADA, ORRAN]


def test_a_row_that_was_read_before_is_read_again(desk: Desk):
    before = desk.entity(ADA)
    entity_edit(change=desk.change(), entity=before, description="Keeps the light.")

    with access.in_workspace(desk.workspace.pk):
        assert living(desk.workspace, before).description == "Keeps the light."


def test_of_a_chain_each_names_what_it_was_merged_into_itself(desk: Desk):
    first = merged(desk, LTD, INC)
    second = merged(desk, ORRAN, LTD)

    assert refusal(desk, INC).fields == {"event": str(first.pk), "into": str(desk.id(LTD))}
    error = refusal(desk, LTD)
    assert error.code == "merged_away"
    assert error.fields == {"event": str(second.pk), "into": str(desk.id(ORRAN))}
    assert error.next_step == "Use 'Orran' instead, or undo that first."


def test_what_was_deleted_is_to_be_undone_first(desk: Desk):
    event = entity_delete(change=desk.change(desk.cast.bob), entity=desk.id(ADA))

    error = refusal(desk, ADA)

    assert (error.code, error.next_step) == ("deleted_before", "Undo that first.")
    assert error.happened.startswith("'Ada Lind' was deleted by Bob on ")
    event_undo(change=desk.change(), event=event)
    with access.in_workspace(desk.workspace.pk):
        assert living(desk.workspace, desk.id(ADA)).name == "Ada Lind"


def test_a_link_that_was_deleted_names_who_did_it(desk: Desk):
    link = desk.link(LTD, ADA)
    relationship_delete(change=desk.change(), relationship=link)

    with access.in_workspace(desk.workspace.pk), pytest.raises(ConflictError) as refused:
        living_link(desk.workspace, link)

    assert refused.value.happened.startswith(
        "The fact that links 'Acme Ltd' to 'Ada Lind' was deleted by Alice on "
    )


def test_what_never_was_and_what_is_elsewhere_is_not_found(desk: Desk):
    other = Desk(rows.make_cast("Elsewhere"), papers="a")

    for one in (uuid4(), other.id(ADA)):
        with access.in_workspace(desk.workspace.pk), pytest.raises(NotFoundError):
            living(desk.workspace, one)
    with access.in_workspace(desk.workspace.pk), pytest.raises(NotFoundError):
        living_link(desk.workspace, other.link(INC, ADA).pk)


def test_nothing_is_done_to_an_entity_of_another_workspace(desk: Desk):
    other = Desk(rows.make_cast("Elsewhere"), papers="ab")
    before = other.state()

    for service in (
        lambda: entities_merge(change=desk.change(), kept=desk.id(LTD), others=[other.id(INC)]),
        lambda: entities_merge(change=desk.change(), kept=other.id(INC), others=[desk.id(LTD)]),
        lambda: entity_edit(change=desk.change(), entity=other.entity(ADA), description="Mine."),
        lambda: entity_delete(change=desk.change(), entity=other.entity(ADA)),
        lambda: entities_differ(change=desk.change(), entities=[desk.id(LTD), other.id(INC)]),
        lambda: relationship_delete(change=desk.change(), relationship=other.link(LTD, ADA)),
    ):
        with pytest.raises(NotFoundError):
            service()

    assert other.state() == before
    assert desk.events() == other.events() == []


def test_an_event_of_another_workspace_is_not_taken_back(desk: Desk):
    other = Desk(rows.make_cast("Elsewhere"), papers="abc")
    event = merged(other, LTD, INC)

    with pytest.raises(NotFoundError):
        event_undo(change=desk.change(), event=event)

    assert INC not in other.names()


# --- groups and senses ----------------------------------------------------------------------------
def test_the_members_of_a_group_are_all_that_is_read_as_it(desk: Desk):
    merged(desk, LTD, INC)
    merged(desk, ORRAN, LTD)

    with access.in_workspace(desk.workspace.pk):
        resolution = load_resolution(desk.workspace.pk)

    assert resolution.members((ORRAN, 0)) == [(INC, 0), (LTD, 0), (ORRAN, 0)]
    assert resolution.members((ADA, 0)) == [(ADA, 0)]


def test_a_sense_is_free_that_nobody_ever_had(desk: Desk):
    with access.in_workspace(desk.workspace.pk):
        assert free_ref(desk.workspace, "nobody") == ("nobody", 0)
        assert free_ref(desk.workspace, LTD) == (LTD, 1)
    event = split(desk, LTD, "b", "Acme Ltd")
    with access.in_workspace(desk.workspace.pk):
        assert free_ref(desk.workspace, LTD) == (LTD, 2)

    event_undo(change=desk.change(), event=event)

    with access.in_workspace(desk.workspace.pk):
        assert free_ref(desk.workspace, LTD) == (LTD, 2)


# --- names that are taken -------------------------------------------------------------------------
def taken_by(desk: Desk, name: str, *own: str) -> str:
    """The name of whoever has it, '' where nobody has."""
    with access.in_workspace(desk.workspace.pk):
        try:
            refuse_taken(
                desk.workspace, name, normalise_name(name),
                resolution=load_resolution(desk.workspace.pk), own=[desk.id(key) for key in own],
            )  # fmt: skip
        except ConflictError as error:
            return str(error.fields["entity"]["name"])
    return ""


@pytest.mark.parametrize("name", ["Ada Lind", "ada lind", "ADA  LIND", "Áda Lind"])
def test_a_name_is_taken_in_every_spelling(desk: Desk, name: str):
    assert taken_by(desk, name) == "Ada Lind"
    assert taken_by(desk, name, ADA) == ""


def test_a_name_is_free_that_nobody_has(desk: Desk):
    assert taken_by(desk, "Ada") == ""
    assert taken_by(desk, "Lind Ada Maria") == ""


def test_the_name_of_what_was_merged_away_is_that_of_what_is_kept(desk: Desk):
    merged(desk, LTD, INC)

    assert taken_by(desk, "Acme Inc") == "Acme Ltd"
    assert taken_by(desk, "Acme Inc", LTD) == ""


def test_a_name_that_was_given_up_by_a_rename_leads_to_what_it_was_of(desk: Desk):
    entity_edit(change=desk.change(), entity=desk.id(ADA), name="Ada Holm")

    assert taken_by(desk, "Ada Holm") == "Ada Holm"
    assert taken_by(desk, "Ada Lind") == "Ada Holm"


def test_an_alias_is_taken_until_it_is_taken_away(desk: Desk):
    entity_edit(change=desk.change(), entity=desk.id(ORRAN), add_aliases=["The island"])
    assert taken_by(desk, "The island") == "Orran"

    entity_edit(change=desk.change(), entity=desk.id(ORRAN), remove_aliases=["The island"])

    assert taken_by(desk, "The island") == ""


def test_the_name_of_what_was_deleted_is_free(desk: Desk):
    entity_delete(change=desk.change(), entity=desk.id(MERCURY))

    assert taken_by(desk, "Mercury") == ""
    event = entity_create(change=desk.change(), name="Mercury", type="planet")
    assert event.details["entity"] == str(desk.id(MERCURY))


def test_a_name_is_not_taken_by_somebody_elsewhere(desk: Desk):
    other = rows.make_workspace("Elsewhere")

    with access.in_workspace(other.pk):
        refuse_taken(other, "Ada Lind", ADA, resolution=load_resolution(other.pk))
        assert not Entity.objects.in_workspace(other).exists()


# --- how it is carried out ------------------------------------------------------------------------
def test_what_was_seen_of_any_subject_must_still_be_so(desk: Desk):
    seen = {desk.id(LTD): 0, desk.id(INC): 0}
    edit = entity_edit(change=desk.change(), entity=desk.id(INC), description="New.")

    with pytest.raises(PreconditionError) as refused:
        entities_merge(change=desk.change(expected=seen), kept=desk.id(LTD), others=[desk.id(INC)])

    assert refused.value.events == (edit.pk,)
    assert INC in desk.names()
    seen[desk.id(INC)] = edit.sequence
    entities_merge(change=desk.change(expected=seen), kept=desk.id(LTD), others=[desk.id(INC)])
    assert INC not in desk.names()


def test_a_preview_that_is_rolled_back_leaves_nothing(desk: Desk):
    before = desk.state()

    effect = preview(entity_edit, workspace=desk.workspace, entity=desk.id(LTD), name="Acme Group")

    assert effect.mentions == 0
    assert desk.state() == before
    assert desk.events() == []


def test_what_fails_half_way_leaves_nothing(desk: Desk):
    before = desk.state()

    def work() -> HistoryEvent:
        merged(desk, LTD, INC)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        operation.operation(desk.change(), work)

    assert desk.state() == before
    assert desk.events() == []


def test_what_is_told_later_is_added_to_what_was_told(desk: Desk):
    event = merged(desk, LTD, INC)

    with access.in_workspace(desk.workspace.pk):
        operation.add_details(event, notes=["Look again."])

    [kept] = desk.events()
    assert kept.details["notes"] == ["Look again."]
    assert kept.details["kept"] == str(desk.id(LTD))


# --- what is decided about two names --------------------------------------------------------------
def standing(desk: Desk, left: str, right: str) -> str:
    with access.in_workspace(desk.workspace.pk):
        rows = in_force(between(desk.workspace.pk, [left, right]))
    return rows[0].verdict if rows else Verdict.UNSURE


def test_the_last_word_that_stands_counts(desk: Desk):
    assert standing(desk, INC, LTD) == Verdict.UNSURE

    differ = entities_differ(change=desk.change(), entities=[desk.id(LTD), desk.id(INC)])
    assert standing(desk, INC, LTD) == Verdict.DIFFERENT
    merge = merged(desk, LTD, INC)
    assert standing(desk, INC, LTD) == Verdict.SAME
    event_undo(change=desk.change(), event=merge)
    assert standing(desk, INC, LTD) == Verdict.DIFFERENT
    event_undo(change=desk.change(), event=differ)

    assert standing(desk, INC, LTD) == Verdict.UNSURE


def test_the_history_keeps_what_people_wrote_and_not_what_documents_say(desk: Desk):
    entity = desk.entity(LTD)
    with access.in_workspace(desk.workspace.pk):
        Entity.objects.in_workspace(desk.workspace).filter(pk=entity.pk).update(
            description="Acme Ltd makes lenses in Orran."
        )

    first = entity_edit(change=desk.change(), entity=entity, description="Makes lenses.")
    second = entity_edit(change=desk.change(), entity=entity, description="Grinds lenses.")

    assert first.details["before"] == {"description": ""}
    assert second.details["before"] == {"description": "Makes lenses."}
