"""What a version brought against the one before: when it is told, when awaited, when given up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingestion.changes import version_changes
from ingestion.changes.version_changes import (
    COMPARED,
    FIRST,
    READING,
    UNKNOWN,
    Changes,
    PassageChanges,
)
from ingestion.documents import queries, version_presenters
from ingestion.documents.queries import VersionRow
from ingestion.documents.version_presenters import ShownChanges
from ingestion.models import Document, IngestionJob, RunState
from kb_project.errors import NotFoundError
from tests import rows
from tests.ingestion.once import Once, once_a_module
from tests.ingestion.versioned import (
    FIRST_TEXT,
    GONE,
    KEPT,
    LAST,
    NEW,
    SECOND_TEXT,
    first_version,
    fresh,
    read,
    replaced,
    reverted,
    version_of,
)
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def twice(workspace: Workspace, text: str = SECOND_TEXT) -> Document:
    """A document whose second version was read to the end."""
    document = first_version(workspace)
    replaced(document, text)
    read(workspace, refreshes=False)
    return fresh(document)


document_once = once_a_module(lambda: twice(rows.make_workspace()))


@pytest.fixture
def document(document_once: Once[Document], media: Path) -> Document:
    """What ``twice`` makes."""
    return document_once.for_a_test(media)


def told(document: Document, number: int) -> Changes:
    with access.in_workspace(document.workspace_id):
        return version_changes.changes_of(
            workspace=document.workspace, version=version_of(document, number)
        )


def shown(document: Document, number: int) -> ShownChanges:
    with access.in_workspace(document.workspace_id):
        return version_presenters.shown_changes(document.workspace, version_of(document, number))


def listed(document: Document) -> list[VersionRow]:
    with access.in_workspace(document.workspace_id):
        return queries.version_rows(workspace=document.workspace, document=fresh(document))


# --- when changes are told ------------------------------------------------------------------------
def test_of_a_first_version_nothing_changed(workspace: Workspace):
    document = first_version(workspace)

    assert told(document, 1) == Changes(1, None, FIRST)
    assert shown(document, 1).text == ()


def test_while_it_is_read_the_changes_are_awaited(workspace: Workspace):
    document = first_version(workspace)
    replaced(document, SECOND_TEXT)

    assert told(document, 2) == Changes(2, 1, READING)
    assert shown(document, 2).changes.state == READING


def test_once_it_is_read_passages_and_facts_are_told(document: Document):
    found = told(document, 2)

    assert (found.number, found.against, found.state) == (2, 1, COMPARED)
    assert set(found.passages) == set(version_changes.PASSAGES)
    assert found.passages["kept"] >= 2
    assert "Cora Vane" in {one.name for one in found.facts.entities_gained}
    assert "Bo Strand" in {one.name for one in found.facts.entities_lost}
    assert not {"Ada Lind", "Olaf Brekke"} & {one.name for one in found.facts.entities_lost}


def test_the_same_words_in_another_order_change_no_fact(workspace: Workspace):
    found = told(
        twice(workspace, f"# Boats\n\n{LAST}\n\n# Light\n\n{KEPT}\n\n# Oil\n\n{GONE}\n"), 2
    )

    assert found.state == COMPARED
    assert (found.facts.entities_gained, found.facts.entities_lost) == ((), ())
    assert (found.facts.gained, found.facts.lost, found.facts.altered) == ((), (), ())


def test_versions_that_wait_are_each_compared_with_the_one_before(workspace: Workspace):
    document = first_version(workspace)
    replaced(document, SECOND_TEXT)
    third = f"{SECOND_TEXT}\n\nThe boats are gone.\n"
    replaced(document, third)
    read(workspace, refreshes=False)

    document = fresh(document)

    assert document.live_number == 3
    assert (told(document, 2).against, told(document, 2).state) == (1, COMPARED)
    assert (told(document, 3).against, told(document, 3).state) == (2, COMPARED)


def test_what_was_captured_for_a_version_that_goes_unread_is_given_up(workspace: Workspace):
    document = first_version(workspace)
    replaced(document, SECOND_TEXT)
    first, second = version_of(document, 1), version_of(document, 2)
    passing = PassageChanges({"kept": 2}, [], [], [])
    with access.in_workspace(workspace.pk):
        version_changes.capture(workspace.pk, first, second, passing)
        assert "before" in (second.changes or {})

        version_changes.capture(workspace.pk, second, version_of(document, 1), passing)

    found = told(document, 2)
    assert (found.against, found.state) == (1, UNKNOWN)
    assert found.passages == {"kept": 2, "changed": 0, "new": 0, "gone": 0}
    assert version_of(document, 1).changes is None


def test_going_back_does_not_rewrite_what_was_told(document: Document):
    before = told(document, 2)

    reverted(document, 1)
    read(document.workspace, refreshes=False)

    assert fresh(document).live_number == 1
    assert told(document, 2) == before
    assert told(document, 1).state == FIRST


def test_what_is_shown_leads_to_the_version_that_says_it(document: Document):
    page = shown(document, 2)

    assert page.changes.state == COMPARED
    assert page.has_facts
    assert any("version=2" in one.url for one in page.entities_gained)
    assert all("version=1" in one.url for one in page.entities_lost)
    assert all("\n" not in one.quote for one in (*page.entities_gained, *page.entities_lost))


def test_the_words_around_a_new_entity_are_whole_and_show_where_they_were_cut(workspace: Workspace):
    sentence = (
        "In the long and windy spring that came after all those quieter years, Cora Vane painted"
        " the lantern room in the colours that its committee had chosen the autumn before."
    )

    page = shown(twice(workspace, FIRST_TEXT.replace(GONE, sentence)), 2)

    [quote] = {one.quote for one in page.entities_gained if "Cora Vane" in one.sentence}
    assert (quote[:2], quote[-2:]) == ("… ", " …")
    assert f" {quote[2:-2]} " in sentence


def test_figures_leave_out_what_there_is_none_of(document: Document):
    page = shown(document, 2)

    assert page.figures[0].endswith("unchanged")
    assert not any(one.startswith("0 ") for one in page.figures)


@pytest.mark.parametrize(
    ("passages", "figures"),
    [
        ({}, []),
        ({"kept": 0, "changed": 0, "new": 0, "gone": 0}, []),
        ({"kept": 1}, ["1 passage unchanged"]),
        ({"changed": 1, "gone": 2}, ["1 passage changed", "2 removed"]),
        ({"new": 1200, "gone": 1}, ["1,200 passages added", "1 removed"]),
    ],
)
def test_the_first_figure_says_what_is_counted(passages: dict[str, int], figures: list[str]):
    assert version_presenters.figures(Changes(2, 1, COMPARED, passages)) == figures


# --- the list of versions -------------------------------------------------------------------------
def test_a_version_is_live_earlier_or_being_read(document: Document):
    replaced(document, f"{SECOND_TEXT}\nMore.\n")

    assert [(row.number, row.state, row.may_restore) for row in listed(document)] == [
        (3, "reading", False),
        (2, "live", False),
        (1, "earlier", True),
    ]


def test_a_version_that_cannot_be_read_failed_and_cannot_be_restored(workspace: Workspace):
    document = first_version(workspace)
    replaced(document, b"%PDF-1.7 broken", name="log.pdf")
    read(workspace, refreshes=False)

    rows_ = listed(document)

    assert [(row.number, row.state, row.may_restore) for row in rows_] == [
        (2, "failed", False),
        (1, "live", False),
    ]
    assert rows_[0].problem
    assert rows_[1].problem is None


def test_each_version_has_the_name_and_size_of_its_file(workspace: Workspace):
    document = first_version(workspace, name="log.md")
    replaced(document, SECOND_TEXT, name="log-2.md")
    read(workspace, refreshes=False)

    assert [(row.name, row.size) for row in listed(document)] == [
        ("log-2.md", len(SECOND_TEXT)),
        ("log.md", len(FIRST_TEXT)),
    ]


def test_what_is_on_its_way_in_is_numbered(document: Document):
    with access.in_workspace(document.workspace.pk):
        assert queries.versions_unread(workspace=document.workspace, document_id=document.pk) == []
    replaced(document, f"{SECOND_TEXT}\nMore.\n")

    with access.in_workspace(document.workspace.pk):
        assert queries.versions_unread(workspace=document.workspace, document_id=document.pk) == [3]


def test_a_version_that_is_searched_already_is_not_on_its_way_in(document: Document):
    with access.in_workspace(document.workspace.pk):
        jobs = IngestionJob.objects.in_workspace(document.workspace).filter(version__number=2)
        assert jobs.update(state=RunState.RUNNING) == 1

        assert queries.versions_unread(workspace=document.workspace, document_id=document.pk) == []


def test_a_version_is_asked_for_by_number_or_is_the_live_one(document: Document):
    with access.in_workspace(document.workspace.pk):
        asked: Any = {"workspace": document.workspace, "document": document}
        assert queries.version_get(**asked, number=None).number == 2
        assert queries.version_get(**asked, number=1).number == 1
        for number in (0, 3, -1):
            with pytest.raises(NotFoundError):
                queries.version_get(**asked, number=number)


def test_a_version_is_not_found_from_elsewhere(document: Document):
    other = rows.make_workspace("Elsewhere")

    with access.in_workspace(other.pk):
        assert queries.version_rows(workspace=other, document=document) == []
        with pytest.raises(NotFoundError):
            queries.version_get(workspace=other, document=document, number=1)


def test_a_document_is_found_by_its_files_name_while_it_is_searched(workspace: Workspace):
    document = first_version(workspace, name="log.md")
    with access.in_workspace(workspace.pk):
        assert queries.document_of_file(workspace=workspace, name="log.md") == document
        assert queries.document_of_file(workspace=workspace, name="LOG.md") is None
        Document.objects.in_workspace(workspace).update(disabled_at=document.created_at)

        assert queries.document_of_file(workspace=workspace, name="log.md") is None


# --- a place in an earlier version ----------------------------------------------------------------
def earlier(document: Document, number: int, span: tuple[int, int] | None) -> Any:
    with access.in_workspace(document.workspace_id):
        return version_presenters.earlier_of(document.workspace, version_of(document, number), span)


def test_a_quote_that_still_stands_is_found_where_it_stands_now(document: Document):
    start = FIRST_TEXT.index(KEPT)
    now = SECOND_TEXT.index(KEPT)

    found = earlier(document, 1, (start, start + len(KEPT)))

    assert found.is_there
    assert f"start={now}" in found.live_url
    assert (found.live_number, found.changes_number) == (2, 2)


@pytest.mark.parametrize("span", [(5, 5), (9, 3), (-4, 2), (0, 10**9)])
def test_a_place_that_is_none_leads_to_the_live_version_as_a_whole(
    document: Document, span: tuple[int, int]
):
    found = earlier(document, 1, span)

    assert not found.is_there
    assert "start=" not in found.live_url


def test_the_live_version_has_nothing_before_it_to_tell(document: Document):
    assert earlier(document, 2, None) is None


def test_after_going_back_the_later_version_is_told_as_not_searched(document: Document):
    reverted(document, 1)
    read(document.workspace, refreshes=False)
    start = SECOND_TEXT.index(NEW)

    found = earlier(fresh(document), 2, (start, start + len(NEW)))

    assert "version 1 is searched" in found.sentence
    assert (found.live_number, found.changes_number) == (1, None)
