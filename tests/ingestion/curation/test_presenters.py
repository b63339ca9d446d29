"""What curators' pages show: who may, what would happen, and why it cannot."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.http import QueryDict

from ingestion.curation import presenters
from ingestion.curation.entities import entity_delete, entity_edit
from ingestion.curation.merging import entities_merge
from ingestion.curation.presenters import MOST_BESIDE, MOST_FOUND, Editing, Preview
from ingestion.models import Entity
from kb_project.errors import ConflictError, NotFoundError, PreconditionError
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ADA, ORRAN, MERCURY = "acme inc", "acme ltd", "ada lind", "orran", "mercury"


def seen_by(user: User, desk: Desk) -> Workspace:
    return access.workspace_for_reading(user=user, workspace_id=desk.workspace.pk)


def asked(*pairs: tuple[str, object]) -> QueryDict:
    query = QueryDict(mutable=True)
    for name, value in pairs:
        query.appendlist(name, str(value))
    return query


def in_scope(desk: Desk, show: Any, **given: Any) -> Any:
    """What a page shows to its owner."""
    workspace = seen_by(desk.cast.alice, desk)
    with access.in_workspace(workspace.pk):
        return show(workspace=workspace, **given)


# --- who may --------------------------------------------------------------------------------------
def test_an_owner_may_curate_and_a_reader_is_told_whom_to_ask(desk: Desk):
    owner = presenters.page_context(seen_by(desk.cast.alice, desk), "entities")
    assert (owner["is_curator"], owner["whom_to_ask"]) == (True, "")

    reader = presenters.page_context(seen_by(desk.cast.bob, desk), "entities")

    assert not reader["is_curator"]
    assert "Alice" in reader["whom_to_ask"]


def test_no_field_is_open_for_a_reader(desk: Desk):
    editing = Editing(field="name", typed="Mine")
    context = {}
    for person in (desk.cast.alice, desk.cast.bob):
        workspace = seen_by(person, desk)
        with access.in_workspace(workspace.pk):
            context[person.name] = presenters.entity_context(
                workspace=workspace, entity_id=desk.id(ADA), editing=editing
            )["editing"]

    assert context == {"Alice": editing, "Bob": Editing()}


def test_a_page_carries_what_was_seen_of_each(desk: Desk):
    event = entity_edit(change=desk.change(), entity=desk.id(ADA), description="New.")

    seen = in_scope(desk, presenters.seen, ids=[desk.id(ADA), desk.id(LTD)])

    assert seen == [f"{desk.id(ADA)}:{event.sequence}", f"{desk.id(LTD)}:0"]


def test_what_documents_propose_is_shown_beside_what_a_person_said(desk: Desk):
    entity_edit(change=desk.change(), entity=desk.id(LTD), name="Acme Group", type="firm")

    context = in_scope(desk, presenters.entity_context, entity_id=desk.id(LTD), editing=Editing())

    assert dict(context["proposed"]) == {"name": "Acme Ltd", "type": "organization"}


def test_what_never_was_has_no_page(desk: Desk):
    with pytest.raises(NotFoundError):
        in_scope(desk, presenters.gone_context, entity_id=uuid4())


def test_the_old_address_of_what_was_merged_away_offers_the_way_back(desk: Desk):
    event = entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    context = in_scope(desk, presenters.gone_context, entity_id=desk.id(INC))

    [view] = context["events"]
    assert (view.event, view.can_undo) == (event, True)
    assert context["gone"].into.pk == desk.id(LTD)


# --- refusals -------------------------------------------------------------------------------------
def test_a_name_that_is_taken_names_its_holder(desk: Desk):
    with pytest.raises(ConflictError) as refused:
        entity_edit(change=desk.change(), entity=desk.id(LTD), name="Ada Lind")

    refusal = presenters.refusal_of(desk.workspace, refused.value)

    assert refusal.status == 409
    assert refusal.holder == {"id": str(desk.id(ADA)), "name": "Ada Lind", "type": "person"}
    assert refusal.since == ()


def test_who_comes_late_reads_what_was_done_since(desk: Desk):
    entity_edit(change=desk.change(desk.cast.bob), entity=desk.id(ADA), description="New.")
    with pytest.raises(PreconditionError) as refused:
        entity_delete(change=desk.change(expected={desk.id(ADA): 0}), entity=desk.id(ADA))

    with access.in_workspace(desk.workspace.pk):
        refusal = presenters.refusal_of(desk.workspace, refused.value)

    assert refusal.status == 412
    assert refusal.since == ("Bob edited the description of 'Ada Lind'.",)
    assert refusal.holder is None


# --- choosing -------------------------------------------------------------------------------------
def choices(desk: Desk, text: str, *without: UUID) -> list[str]:
    found: list[Entity] = in_scope(desk, presenters.choices, text=text, without=without)
    return [one.key for one in found]


def test_nothing_is_offered_where_nothing_is_asked(desk: Desk):
    assert choices(desk, "") == []
    assert choices(desk, "acme") == [LTD, INC]
    assert choices(desk, "acme", desk.id(LTD)) == [INC]
    assert choices(desk, "nobody") == []


def test_a_few_are_offered_of_many(desk: Desk):
    many = Said([(f"Ship {letter}", "product") for letter in "ABCDEFGHIJKL"])
    run(paper(desk.workspace, "ships", many))

    assert len(choices(desk, "ship")) == MOST_FOUND


# --- merging --------------------------------------------------------------------------------------
def merging(desk: Desk, key: str, *pairs: tuple[str, object]) -> dict[str, Any]:
    context: dict[str, Any] = in_scope(
        desk, presenters.merge_context, entity=desk.entity(key), given=asked(*pairs)
    )
    return context


def test_one_alone_has_nothing_to_preview(desk: Desk):
    context = merging(desk, LTD)

    assert context["group"].ids == (desk.id(LTD),)
    assert (context["preview"], context["differences"]) == (None, [])


def test_the_one_the_page_began_at_is_kept_unless_another_is_chosen(desk: Desk):
    with_inc = ("with", desk.id(INC))

    assert merging(desk, LTD, with_inc)["group"].kept == desk.id(LTD)
    chosen = merging(desk, LTD, with_inc, ("kept", desk.id(INC)))["group"]
    assert (chosen.kept, set(chosen.ids)) == (desk.id(INC), {desk.id(INC), desk.id(LTD)})
    assert merging(desk, LTD, with_inc, ("kept", desk.id(ADA)))["group"].kept == desk.id(LTD)


def test_whoever_is_dropped_is_no_longer_kept_but_the_first_stays(desk: Desk):
    pairs = [("with", desk.id(one)) for one in (INC, ORRAN)]

    group = merging(
        desk, LTD, *pairs, ("kept", desk.id(INC)), ("drop", desk.id(INC)), ("drop", desk.id(LTD))
    )["group"]

    assert group.ids == (desk.id(LTD), desk.id(ORRAN))
    assert group.kept == desk.id(LTD)


def test_the_preview_of_the_page_is_what_happens(desk: Desk):
    context = merging(desk, LTD, ("with", desk.id(INC)))

    event = entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    assert context["preview"].effect.figures == event.details["counts"]


def test_more_than_fit_are_refused_with_a_way_on(desk: Desk):
    many = Said([(f"Ship {letter}", "product") for letter in "ABCDEF"])
    run(paper(desk.workspace, "ships", many))
    others = [("with", desk.id(f"ship {letter}")) for letter in "abcdef"]

    context = merging(desk, LTD, *others)

    assert context["is_full"]
    assert len(context["cards"]) == MOST_BESIDE
    assert context["preview"].effect is None
    assert context["preview"].refusal.problem["happened"].startswith("7 entities are too many")


def test_somebody_elsewhere_cannot_be_drawn_in(desk: Desk):
    other = Desk(rows.make_cast("Elsewhere"), papers="a")

    with pytest.raises(NotFoundError):
        merging(desk, LTD, ("with", other.id(INC)))


def test_somebody_who_went_meanwhile_is_a_refusal_and_no_error(desk: Desk):
    entity_delete(change=desk.change(), entity=desk.id(INC))

    preview = merging(desk, LTD, ("with", desk.id(INC)))["preview"]

    assert preview.refusal.status == 409
    assert "was deleted by Alice" in preview.refusal.problem["happened"]


# --- splitting ------------------------------------------------------------------------------------
def split_preview(desk: Desk, *pairs: tuple[str, object]) -> Preview | None:
    found: Preview | None = in_scope(
        desk, presenters.split_preview, entity=desk.entity(LTD), given=asked(*pairs)
    )
    return found


def test_a_move_is_previewed_once_it_says_where_to(desk: Desk):
    there = [("document", desk.document("b").pk), ("into", "other")]

    assert split_preview(desk, *there) is None
    preview = split_preview(desk, *there, ("target", desk.id(INC)))

    assert preview is not None
    assert preview.effect is not None
    assert preview.effect.mentions == 1


def test_a_split_without_a_name_gets_the_old_one(desk: Desk):
    preview = split_preview(desk, ("document", desk.document("b").pk), ("name", "  "))

    assert preview is not None
    assert preview.effect is not None
    assert desk.names().count(f"{LTD}/1") == 0


@pytest.mark.parametrize(
    ("names", "code"), [((), "nothing_selected"), ("bcd", "everything_selected")]
)
def test_neither_nothing_nor_everything_is_previewed(desk: Desk, names: str, code: str):
    chosen = [("document", desk.document(name).pk) for name in names]

    preview = split_preview(desk, ("name", "Acme of Orran"), *chosen)

    assert preview is not None
    assert preview.refusal is not None
    assert preview.refusal.problem["code"] == code


def test_a_target_that_the_search_did_not_find_is_listed_first(desk: Desk):
    context = in_scope(
        desk,
        presenters.split_context,
        entity=desk.entity(LTD),
        given=asked(("target", desk.id(ADA)), ("q", "orran"), ("into", "other")),
    )

    assert [one.key for one in context["found"]] == [ADA, ORRAN]
    assert context["is_move"]
    assert [name for name, _ in context["names"]] == ["Acme Ltd"]


def test_the_form_of_a_fact_shows_what_is_there_until_something_is_typed(desk: Desk):
    link = desk.link(LTD, ADA)

    shown = in_scope(desk, presenters.link_context, link=link, given=asked())
    typed = in_scope(
        desk, presenters.link_context, link=link, given=asked(("description", "Mine."))
    )

    assert shown["description"] == link.description
    assert typed["description"] == "Mine."
    assert shown["seen"] == [f"{link.pk}:0"]
