"""The history itself: numbers without gaps, revisions, and what somebody is told who comes late."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings, strategies as st

from ingestion.history import queries as history_queries, recording
from ingestion.history.recording import MOST_NAMES, REASON_LENGTH, ChangeContext
from ingestion.models import EventKind, HistoryEvent, HistorySubject, SubjectKind
from kb_project.errors import NotFoundError, PreconditionError
from tests import rows
from workspaces import access
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return rows.make_cast()


def record(
    cast: rows.Cast,
    *subjects: UUID,
    kind: EventKind = EventKind.ENTITY_EDITED,
    user: User | None = None,
    reason: str = "",
) -> HistoryEvent:
    with access.in_workspace(cast.workspace.pk):
        recording.lock(cast.workspace)
        names = {str(one): "Ada" for one in subjects}
        return recording.record(
            ChangeContext(cast.workspace, user or cast.alice, reason=reason),
            kind,
            dict.fromkeys(subjects, SubjectKind.ENTITY),
            {"names": names, "entity": next(iter(names), None)},
        )


def revisions(workspace: Workspace, *ids: UUID) -> list[int]:
    with access.in_workspace(workspace.pk):
        return list(recording.revisions(workspace, ids).values())


def refused(cast: rows.Cast, expected: dict[UUID, int]) -> PreconditionError | None:
    with access.in_workspace(cast.workspace.pk):
        try:
            recording.check_expected(ChangeContext(cast.workspace, cast.alice, expected=expected))
        except PreconditionError as error:
            return error
    return None


# --- numbers --------------------------------------------------------------------------------------
def test_events_are_counted_by_workspace(cast: rows.Cast):
    other = rows.make_cast("Elsewhere")

    numbers = [record(one, uuid4()).sequence for one in (cast, cast, other, cast, other)]

    assert numbers == [1, 2, 1, 3, 2]


def test_the_revision_of_a_thing_is_its_last_event(cast: rows.Cast):
    one, other, never = uuid4(), uuid4(), uuid4()
    record(cast, one, other)
    record(cast, other)

    assert revisions(cast.workspace, one, other, never) == [1, 2, 0]
    assert revisions(cast.workspace) == []


def test_a_revision_elsewhere_says_nothing_here(cast: rows.Cast):
    other = rows.make_cast("Elsewhere")
    one = uuid4()
    record(other, one)

    assert revisions(cast.workspace, one) == [0]


def test_what_is_not_committed_leaves_no_gap(cast: rows.Cast):
    record(cast, uuid4())
    with transaction.atomic():
        record(cast, uuid4())
        transaction.set_rollback(True)

    assert record(cast, uuid4()).sequence == 2


# --- what is written ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("", ""),
        ("  They are \n\n the same.\t", "They are the same."),
        ("a\0b", "ab"),
        ("x" * 2000, "x" * REASON_LENGTH),
    ],
)
def test_a_reason_is_kept_on_one_line(cast: rows.Cast, reason: str, kept: str):
    assert record(cast, uuid4(), reason=reason).reason == kept


def test_every_subject_carries_the_number_of_its_event(cast: rows.Cast):
    record(cast, uuid4())
    event = record(cast, uuid4(), uuid4())

    with access.in_workspace(cast.workspace.pk):
        subjects = HistorySubject.objects.in_workspace(cast.workspace).filter(event=event)
        assert [one.sequence for one in subjects] == [2, 2]


def test_many_that_are_added_together_are_named_as_far_as_any_sentence_goes(cast: rows.Cast):
    documents = [
        rows.make_document(cast.workspace, f"Paper {number}", "x")
        for number in range(MOST_NAMES + 3)
    ]

    with access.in_workspace(cast.workspace.pk):
        event = recording.record_added(documents)

    assert len(event.details["names"]) == MOST_NAMES
    assert event.details["counts"] == {"documents": MOST_NAMES + 3}
    assert len(set(revisions(cast.workspace, *(one.pk for one in documents)))) == 1
    assert event.via == "command"


# --- who comes late -------------------------------------------------------------------------------
def test_who_saw_the_last_state_goes_on(cast: rows.Cast):
    one, never = uuid4(), uuid4()
    record(cast, one)

    assert refused(cast, {}) is None
    assert refused(cast, {one: 1, never: 0}) is None


def test_who_comes_late_is_told_what_was_done_since_in_order(cast: rows.Cast):
    one = uuid4()
    record(cast, one)
    later = [record(cast, one, user=user) for user in (cast.bob, cast.alice)]

    error = refused(cast, {one: 1})

    assert error is not None
    assert error.events == tuple(event.pk for event in later)
    told = [row["sentence"] for row in error.fields["events"]]
    assert told == ["Bob edited 'Ada'.", "Alice edited 'Ada'."]


def test_an_event_of_two_things_is_told_once(cast: rows.Cast):
    one, other = uuid4(), uuid4()
    event = record(cast, one, other)

    error = refused(cast, {one: 0, other: 0})

    assert error is not None
    assert error.events == (event.pk,)


def test_of_what_was_seen_as_it_is_nothing_is_told(cast: rows.Cast):
    one, other = uuid4(), uuid4()
    record(cast, one)
    event = record(cast, other)

    error = refused(cast, {one: 1, other: 0})

    assert error is not None
    assert error.events == (event.pk,)


def test_a_revision_that_never_was_is_refused_too(cast: rows.Cast):
    error = refused(cast, {uuid4(): 7})

    assert error is not None
    assert error.events == ()
    assert error.fields["events"] == []


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    touched=st.lists(st.sets(st.integers(0, 2), min_size=1), max_size=6),
    seen=st.lists(st.integers(0, 6), min_size=3, max_size=3),
)
def test_who_goes_on_has_seen_everything(cast: rows.Cast, touched: list[set[int]], seen: list[int]):
    things = [uuid4() for _ in range(3)]
    with access.in_workspace(cast.workspace.pk):
        offset = recording.next_sequence(cast.workspace) - 1
    for one in touched:
        record(cast, *(things[place] for place in sorted(one)))
    last = [
        max((offset + number for number, one in enumerate(touched, 1) if place in one), default=0)
        for place in range(3)
    ]
    expected = {
        thing: offset + number if number else 0 for thing, number in zip(things, seen, strict=True)
    }

    error = refused(cast, expected)

    assert (error is None) is (list(expected.values()) == last)


# --- selected -------------------------------------------------------------------------------------
def test_events_are_found_by_what_they_are_about_who_did_them_and_kind(cast: rows.Cast):
    one, other = uuid4(), uuid4()
    record(cast, one, other)
    record(cast, other, user=cast.bob)
    record(cast, one, kind=EventKind.ENTITY_DELETED)

    with access.in_workspace(cast.workspace.pk):

        def found(**wanted: Any) -> list[int]:
            rows_ = history_queries.events(workspace=cast.workspace, **wanted)
            return [event.sequence for event in rows_]

        assert found() == [3, 2, 1]
        assert found(subject_id=one) == [3, 1]
        assert found(user=cast.bob) == found(user=cast.bob.pk) == [2]
        assert found(kind=EventKind.ENTITY_DELETED.value) == [3]
        assert found(before=3, subject_id=one) == [1]
        assert found(before=1) == found(subject_id=uuid4()) == []


def test_an_event_of_another_workspace_is_not_found(cast: rows.Cast):
    other = rows.make_cast("Elsewhere")
    event = record(other, uuid4())

    with access.in_workspace(cast.workspace.pk), pytest.raises(NotFoundError):
        history_queries.event_get(workspace=cast.workspace, event_id=event.pk)
    with access.in_workspace(other.workspace.pk):
        assert history_queries.event_get(workspace=other.workspace, event_id=event.pk) == event


def test_nothing_asked_blocks_nothing(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        assert history_queries.blockers(workspace=cast.workspace, events=[]) == {}
        assert history_queries.event_views(workspace=cast.workspace, rows=[]) == []
