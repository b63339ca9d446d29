from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingestion.curation import undoing
from ingestion.documents import metadata
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, HistoryEvent
from tests import rows
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


@pytest.fixture
def document(media: Path) -> Document:
    return rows.make_document(rows.make_workspace(), "Log", "Ada Lind keeps the light.")


def edit(document: Document, **said: Any) -> HistoryEvent:
    return metadata.document_edit(
        change=ChangeContext(document.workspace, None), document=document, **said
    )


def undo(event: HistoryEvent) -> HistoryEvent:
    return undoing.event_undo(change=ChangeContext(event.workspace, None), event=event)


def said(document: Document) -> tuple[str, list[str]]:
    with access.in_workspace(document.workspace_id):
        row = Document.objects.in_workspace(document.workspace_id).get(pk=document.pk)
    return row.title, row.tags


def test_an_edit_that_is_taken_back_says_what_was_said_before(document: Document):
    event = edit(document, title="The log", tags=["sea"])
    undo(event)

    assert said(document) == ("Log", [])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_edits_may_be_taken_back_in_any_order(document: Document, order: tuple[int, int]):
    events = [edit(document, title="One"), edit(document, title="Two", tags=["sea"])]

    undo(events[order[0]])
    assert said(document) == (("Two", ["sea"]) if order[0] == 0 else ("One", []))
    undo(events[order[1]])
    assert said(document) == ("Log", [])


def test_what_was_edited_after_an_undoing_goes_back_to_the_beginning(document: Document):
    undo(edit(document, title="One"))
    event = edit(document, title="Two")
    last = edit(document, tags=["sea"])

    undo(event)

    assert said(document) == ("Log", ["sea"])
    undo(last)
    assert said(document) == ("Log", [])


def test_history_says_what_an_undo_under_a_later_edit_changed(document: Document):
    first, second = edit(document, tags=["one"]), edit(document, tags=["two"])

    of_first, of_second = undo(first), undo(second)

    assert of_first.details["before"] == of_first.details["after"] == {"tags": ["two"]}
    [why] = of_first.details["notes"]
    assert why.startswith(
        "A later change is in force; nothing visible changes: 'Log' was edited by "
    )
    assert (of_second.details["before"], of_second.details["after"]) == (
        {"tags": ["two"]},
        {"tags": []},
    )


def test_an_undo_of_an_edit_is_undone(document: Document):
    again = undo(undo(edit(document, title="One", tags=["sea"])))

    assert said(document) == ("One", ["sea"])
    assert again.details["after"] == {"title": "One", "tags": ["sea"]}
    undo(again)
    assert said(document) == ("Log", [])


def test_an_undo_is_undone_below_a_later_edit(document: Document):
    of_first = undo(edit(document, title="One"))
    last = edit(document, title="Two")

    assert (
        undo(of_first)
        .details["notes"][0]
        .startswith("A later change is in force; nothing visible changes: ")
    )
    assert said(document) == ("Two", [])
    undo(last)
    assert said(document) == ("One", [])
