from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from ingestion.history.queries import EventView
from ingestion.models import EventKind, HistoryEvent, Verdict
from ingestion.templatetags.curation import changes, event_sentence, in_words, open_cases
from tests import rows
from tests.ingestion.suggestions.harbour import ACME, INC, decide, make_harbour, suggest
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

HARBOUR = Workspace(slug="harbour")
ONE, TWO = str(UUID(int=1)), str(UUID(int=2))


def view(kind: str, sentence: str, names: dict[str, str], **more: Any) -> EventView:
    details = more.pop("details", {})
    return EventView(
        event=HistoryEvent(kind=kind, details=details),
        sentence=sentence,
        who="Ana",
        when=datetime(2026, 11, 4, tzinfo=UTC),
        reason="",
        is_undone=False,
        can_undo=True,
        blocked_by=None,
        before=more.get("before", {}),
        after=more.get("after", {}),
        counts={},
        names=names,
    )


def test_names_are_links_and_everything_is_escaped():
    one = view(
        EventKind.ENTITIES_MERGED,
        "Ana <b> merged 'Acme <Inc>' into 'Acme Inc's'.",
        {ONE: "Acme <Inc>", TWO: "Acme Inc's"},
    )

    shown = event_sentence(HARBOUR, one)

    assert "Ana &lt;b&gt; merged" in shown
    assert f'<a href="/w/harbour/entities/{ONE}/">Acme &lt;Inc&gt;</a>' in shown
    assert f'<a href="/w/harbour/entities/{TWO}/">Acme Inc&#x27;s</a>' in shown


def test_documents_lead_to_documents_and_deleted_ones_nowhere():
    names = {ONE: "Log"}
    trashed = view(EventKind.DOCUMENT_TRASHED, "Ana moved 'Log' to the trash.", names)
    undone = view(
        EventKind.UNDO,
        "Ana undid: Ana moved 'Log' to the trash.",
        names,
        details={"undoes_kind": "document_trashed"},
    )
    deleted = view(EventKind.DOCUMENT_DELETED, "Ana deleted 'Log' for good.", names)

    assert f"/w/harbour/documents/{ONE}/" in event_sentence(HARBOUR, trashed)
    assert f"/w/harbour/documents/{ONE}/" in event_sentence(HARBOUR, undone)
    assert "<a" not in event_sentence(HARBOUR, deleted)


def test_a_sentence_without_names_is_itself():
    assert event_sentence(HARBOUR, view("undo", "Ana <i>.", {})) == "Ana &lt;i&gt;."


def test_before_and_after_are_told_by_field():
    one = view(
        EventKind.ENTITY_EDITED,
        "",
        {},
        before={"name": "A", "add_aliases": []},
        after={"name": "B", "add_aliases": ["C", "D"], "is_protected": True},
    )

    assert changes(one) == [
        ("Name", "A", "B"),
        ("Names added", "", "C, D"),
        ("Protected", "", "yes"),
    ]
    assert in_words(None) == ""
    assert in_words(3) == "3"


def test_cases_are_counted_that_wait_for_a_decision():
    cast = make_harbour()

    assert open_cases(cast.workspace) == 2


def test_a_workspace_without_suggestions_has_none():
    assert open_cases(rows.make_workspace()) == 0


def test_what_is_decided_or_found_counts_at_once():
    cast = make_harbour()
    decide(cast.workspace, ACME, INC, Verdict.DIFFERENT, cast.alice)

    assert open_cases(cast.workspace) == 1
    suggest(cast.workspace, ACME, "SOU", 0.7)
    # Together with the pair that was there it makes no larger case.
    assert open_cases(cast.workspace) == 2


def test_what_was_counted_is_not_counted_again(django_assert_max_num_queries):
    cast = make_harbour()
    open_cases(cast.workspace)

    with django_assert_max_num_queries(7):
        assert open_cases(cast.workspace) == 2
