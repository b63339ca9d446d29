"""The history as its pages show it: what each event moved, and what is left of it when narrowed."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import QueryDict
from django.utils import timezone
from hypothesis import given, strategies as st

from ingestion.curation import history_views
from ingestion.curation.entities import entity_create, entity_delete, entity_edit
from ingestion.curation.history_views import Filter, HistoryPage, filter_of, history_page
from ingestion.curation.merging import entities_merge
from ingestion.curation.previewing import preview
from ingestion.curation.undoing import event_undo
from ingestion.documents import lifecycle
from ingestion.models import Document, EventKind, HistoryEvent
from kb_project.errors import NotFoundError
from tests import rows
from tests.ingestion.curation.papers import Desk
from workspaces import access

pytestmark = pytest.mark.usefixtures("fake_embedder")
INC, LTD, ADA = "acme inc", "acme ltd", "ada lind"


def page(desk: Desk, **wanted: Any) -> HistoryPage:
    with access.in_workspace(desk.workspace.pk):
        return history_page(workspace=desk.workspace, wanted=Filter(**wanted))


def moved(desk: Desk) -> str:
    """What the page says of the last event, below its sentence."""
    return page(desk).events[0].moved


def live(desk: Desk, action: str, *names: str) -> HistoryEvent:
    service = getattr(lifecycle, f"documents_{action}")
    event: HistoryEvent = service(
        change=desk.change(), documents=[desk.document(name) for name in names]
    )
    return event


# --- what an event moved --------------------------------------------------------------------------
def test_what_leaves_the_search_with_a_document_is_told_as_leaving(desk: Desk):
    live(desk, "disable", "d")

    assert moved(desk).startswith("1 passage is no longer searched; 1 fact loses its only source")


def test_what_comes_back_with_a_document_is_told_as_coming_back(desk: Desk):
    live(desk, "trash", "a", "d")
    live(desk, "restore", "a", "d")

    assert moved(desk) == "2 passages can be searched again."


def test_a_document_that_is_enabled_can_be_searched_again(desk: Desk):
    live(desk, "disable", "a")
    live(desk, "enable", "a")

    assert moved(desk) == "1 passage can be searched again."


def test_of_a_disabled_document_in_and_out_of_the_trash_nothing_is_searched_again(desk: Desk):
    live(desk, "disable", "a")
    live(desk, "trash", "a")
    assert moved(desk) == ""

    event = live(desk, "restore", "a")

    assert moved(desk) == ""
    effect = preview(event_undo, workspace=desk.workspace, event=event)
    assert effect.sentence == ""


def test_what_goes_for_good_says_so(desk: Desk):
    live(desk, "trash", "a")
    live(desk, "delete", "a")

    assert moved(desk) == "1 passage is deleted for good."


def test_what_was_searched_a_moment_ago_and_goes_for_good_tells_its_facts(desk: Desk):
    live(desk, "delete", "d", "e")

    assert moved(desk).startswith("2 passages are deleted for good; 2 facts lose their only source")


def test_facts_that_keep_other_sources_are_told_too(desk: Desk):
    document = desk.document("b")
    with access.in_workspace(desk.workspace.pk):
        Document.objects.in_workspace(desk.workspace).filter(pk=document.pk).update(title="B")
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])

    live(desk, "disable", "b")

    assert "; 1 keeps other sources" in moved(desk)


def test_of_what_moves_nothing_nothing_is_told(desk: Desk):
    assert page(desk).events[0].view.event.kind == EventKind.DOCUMENT_ADDED
    assert moved(desk) == ""
    entity_edit(change=desk.change(), entity=desk.id(ADA), description="Keeps the light.")

    assert moved(desk) == ""


def test_what_a_deletion_hid_and_its_undoing_brings_back_is_told(desk: Desk):
    event = entity_delete(change=desk.change(), entity=desk.id(ADA))
    assert moved(desk) == "2 facts and 2 mentions are hidden."

    event_undo(change=desk.change(), event=event)

    assert moved(desk) == "2 facts and 2 mentions move back."


def test_an_undo_that_changed_nothing_says_why(desk: Desk):
    event = entity_edit(change=desk.change(), entity=desk.id(ADA), description="One.")
    entity_edit(change=desk.change(), entity=desk.id(ADA), description="Two.")

    event_undo(change=desk.change(), event=event)

    assert moved(desk).startswith(
        "A later change is in force; nothing visible changes: 'Ada Lind' was edited by Alice on "
    )


# --- narrowed -------------------------------------------------------------------------------------
def test_only_what_one_person_did_is_shown_and_everybody_is_offered(desk: Desk):
    bob = desk.cast.bob
    entity_edit(change=desk.change(bob), entity=desk.id(ADA), description="One.")
    entity_edit(change=desk.change(), entity=desk.id(ADA), description="Two.")

    shown = page(desk, person=bob.pk)

    assert [one.view.who for one in shown.events] == ["Bob"]
    assert {str(one) for one in shown.people} == {"Alice", "Bob"}


def test_only_one_kind_is_shown(desk: Desk):
    entity_edit(change=desk.change(), entity=desk.id(ADA), description="One.")

    shown = page(desk, kind=EventKind.ENTITY_EDITED.value)

    assert [one.view.event.kind for one in shown.events] == [EventKind.ENTITY_EDITED]
    assert page(desk, kind=EventKind.ENTITY_SPLIT.value).events == ()


def test_a_day_begins_and_ends_at_midnight(desk: Desk):
    today = timezone.localdate()
    all_of_it = len(page(desk).events)

    assert len(page(desk, since=today, until=today).events) == all_of_it
    assert page(desk, since=today + timedelta(days=1)).events == ()
    assert page(desk, until=today - timedelta(days=1)).events == ()


@pytest.mark.parametrize("day", [date.min, date.max])
def test_the_ends_of_time_are_days_too(desk: Desk, day: date):
    everything = page(desk).events

    assert page(desk, since=date.min, until=date.max).events == everything
    assert len(page(desk, since=day).events) in {0, len(everything)}
    assert len(page(desk, until=day).events) in {0, len(everything)}


def test_a_long_history_is_read_a_page_at_a_time_and_nothing_is_shown_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(history_views, "EVENTS_PER_PAGE", 2)
    with access.in_workspace(desk.workspace.pk):
        events = HistoryEvent.objects.in_workspace(desk.workspace).order_by("-sequence")
        expected = list(events.values_list("sequence", flat=True))

    shown, before = [], None
    while True:
        one = page(desk, before=before)
        shown += [each.view.event.sequence for each in one.events]
        if one.older is None:
            break
        before = one.older

    assert shown == expected


def test_a_last_page_that_is_just_full_leads_nowhere(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    number = len(page(desk).events)

    monkeypatch.setattr(history_views, "EVENTS_PER_PAGE", number)

    assert page(desk).older is None


def test_the_history_of_one_thing_names_only_those_who_touched_it(desk: Desk):
    event = entity_create(change=desk.change(desk.cast.bob), name="The Trust", type="organization")
    made = event.details["entity"]

    with access.in_workspace(desk.workspace.pk):
        shown = history_page(workspace=desk.workspace, wanted=Filter(), subject_id=made)

    assert [one.view.sentence for one in shown.events] == ["Bob created 'The Trust'."]
    assert [str(one) for one in shown.people] == ["Bob"]


def test_another_workspace_has_a_history_of_its_own(desk: Desk):
    other = rows.make_workspace("Elsewhere")

    with access.in_workspace(other.pk):
        shown = history_page(workspace=other, wanted=Filter(), subject_id=desk.id(ADA))

    assert (shown.events, list(shown.people)) == ((), [])


def test_a_document_that_never_was_has_no_history(desk: Desk):
    with access.in_workspace(desk.workspace.pk), pytest.raises(NotFoundError):
        history_views.document_context(
            workspace=desk.workspace, document_id=uuid4(), query=QueryDict()
        )


def test_a_document_that_was_deleted_keeps_the_name_it_had(desk: Desk):
    document = desk.document("a")
    live(desk, "delete", "a")

    with access.in_workspace(desk.workspace.pk):
        context = history_views.document_context(
            workspace=desk.workspace, document_id=document.pk, query=QueryDict()
        )

    assert context["document"] is None
    assert context["name"] == document.title


# --- what is asked for ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", Filter()),
        ("kind=nonsense&person=x&since=tomorrow&until=32&before=-1", Filter()),
        ("since=2024-02-30", Filter()),
        ("since=2024-02-29", Filter(since=date(2024, 2, 29))),
        ("until=2024-03-01T10:00", Filter(until=date(2024, 3, 1))),
        ("kind=undo&person=3", Filter(kind="undo", person=3)),
    ],
)
def test_what_cannot_be_understood_is_left_out(query: str, wanted: Filter):
    assert filter_of(QueryDict(query)) == wanted


@given(st.dictionaries(st.sampled_from(["person", "kind", "since", "until", "before"]), st.text()))
def test_whatever_is_asked_for_becomes_a_filter(given_: dict[str, str]):
    query = QueryDict(mutable=True)
    query.update(given_)

    found = filter_of(query)

    assert found.kind in {"", *EventKind.values}
    assert (found.before or 0) >= 0


def test_where_a_page_begins_does_not_make_it_narrow():
    assert not Filter(before=7).is_narrow
    assert Filter(kind="undo").is_narrow
    assert Filter(until=date(2024, 1, 1)).is_narrow
