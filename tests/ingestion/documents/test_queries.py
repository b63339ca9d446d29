from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from ingestion import stage
from ingestion.documents import outcomes, queries as document_queries
from ingestion.models import (
    Document,
    DocumentState,
    DocumentVersion,
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
)
from kb_project.errors import NotFoundError
from tests import rows
from tests.ingestion.jobs import add, document_of, fresh
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nBo Strand sells oil to Ada Lind."
NAMES = {"Ada Lind": "person", "Bo Strand": "person"}


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def titles(workspace: Workspace, **filters: Any) -> list[str]:
    with access.in_workspace(workspace.pk):
        return [row.title for row in document_queries.documents(workspace=workspace, **filters)]


def row_of(workspace: Workspace, document: Document) -> document_queries.DocumentRow:
    with access.in_workspace(workspace.pk):
        return document_queries.document_row(workspace=workspace, document_id=document.pk)


def set_runs(job: IngestionJob, state: RunState, *stages: str, done: int = 0, of: int = 0) -> None:
    with access.in_workspace(job.workspace_id):
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job, stage__in=stages)
        runs.update(state=state, units_done=done, units_total=of)


# --- lists ----------------------------------------------------------------------------------------
def test_documents_come_newest_first(workspace: Workspace):
    for title in ("One", "Two", "Three"):
        rows.make_document(workspace, title, TEXT)

    assert titles(workspace) == ["Three", "Two", "One"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"text": "tide"}, ["Tide log"]),
        ({"text": ".TXT"}, ["Oil bill", "Tide log"]),
        ({"state": "ready"}, ["Oil bill", "Tide log"]),
        ({"state": "attention"}, []),
        ({"tag": " SEA "}, ["Tide log"]),
        ({"collection": "Logs"}, ["Tide log"]),
        ({"collection": "logs"}, ["Tide log"]),
        ({"collection": "Charts"}, []),
        ({"media_type": "application/pdf"}, ["Oil bill"]),
        ({"tag": "sea", "media_type": "application/pdf"}, []),
        ({"text": "100%"}, []),
    ],
)
def test_filters_narrow_the_list(
    workspace: Workspace, filters: dict[str, str], expected: list[str]
):
    shelf = rows.make_collection(workspace, "Logs")
    rows.make_document(workspace, "Tide log", TEXT, collection=shelf, tags=["sea"])
    rows.make_document(workspace, "Oil bill", TEXT, media_type="application/pdf")

    assert titles(workspace, **filters) == expected


def test_a_collection_goes_by_its_id(workspace: Workspace):
    shelf = rows.make_collection(workspace, "Logs")
    rows.make_document(workspace, "Tide log", TEXT, collection=shelf)
    rows.make_document(workspace, "Oil bill", TEXT)

    assert titles(workspace, collection=str(shelf.pk)) == ["Tide log"]
    assert titles(workspace, collection=str(uuid.uuid4())) == []


def test_documents_elsewhere_are_not_listed(workspace: Workspace):
    rows.make_document(rows.make_workspace("Other"), "Secret", TEXT)

    assert titles(workspace) == []


def test_rows_cost_the_same_number_of_queries_whatever_their_number(
    workspace: Workspace, django_assert_num_queries: DjangoAssertNumQueries
):
    for number in range(6):
        add(workspace, f"{number}.txt", f"Text {number}.")

    with access.in_workspace(workspace.pk):
        documents = list(document_queries.documents(workspace=workspace))
        with django_assert_num_queries(4):
            found = document_queries.document_rows(workspace=workspace, documents=documents)

    assert len(found) == 6


# --- one row --------------------------------------------------------------------------------------
def test_a_row_shows_how_far_each_stage_is(workspace: Workspace):
    job = add(workspace)
    set_runs(job, RunState.DONE, "parse", "chunk", "situate")
    set_runs(job, RunState.RUNNING, "embed", done=3, of=4)

    row = row_of(workspace, document_of(job))

    assert [(step.name, step.share) for step in row.steps] == [
        ("parse", 1.0),
        ("chunk", 1.0),
        ("situate", 1.0),
        ("embed", 0.75),
        ("extract", 0.0),
        ("resolve", 0.0),
    ]
    assert row.share == pytest.approx(3.75 / 6)
    assert (row.has_words, row.has_vectors, row.is_moving) == (True, False, True)


def test_a_document_that_is_read_again_is_still_found_by_its_words(workspace: Workspace):
    document = rows.make_document(workspace, "Keepers", TEXT)
    with access.in_workspace(workspace.pk):
        IngestionJob.objects.create(workspace=workspace, document=document, kind=JobKind.DOCUMENT)

    assert row_of(workspace, document).has_words


def test_a_row_shows_the_newest_job(workspace: Workspace):
    job = add(workspace)
    with access.in_workspace(workspace.pk):
        newer = IngestionJob.objects.create(
            workspace=workspace,
            kind=JobKind.DOCUMENT,
            document=job.document,
            version=job.version,
            problem={"code": "torn"},
        )

    row = row_of(workspace, document_of(job))

    assert row.job == newer
    assert row.problem == {"code": "torn"}


def test_a_row_counts_chunks_and_shows_warnings(workspace: Workspace):
    document = rows.make_document(workspace, "Log", TEXT)
    with access.in_workspace(workspace.pk):
        DocumentVersion.objects.in_workspace(workspace).update(warnings=["It is faint."])

    row = row_of(workspace, document)

    assert (row.chunks, row.warnings) == (2, ("It is faint.",))


def test_a_document_without_a_job_stands_still(workspace: Workspace):
    row = row_of(workspace, rows.make_document(workspace, "Log", TEXT))

    assert (row.job, row.steps, row.share, row.problem) == (None, (), 0.0, None)
    assert not row.is_moving


@pytest.mark.parametrize("read", [document_queries.document_get, document_queries.document_row])
def test_a_document_that_is_not_here_is_not_found(workspace: Workspace, read):
    foreign = rows.make_document(rows.make_workspace("Other"), "Secret", TEXT)

    for pk in (foreign.pk, uuid.uuid4()):
        with (
            pytest.raises(NotFoundError, match="no such document"),
            access.in_workspace(workspace.pk),
        ):
            read(workspace=workspace, document_id=pk)


def test_the_live_version_is_the_one_that_counts(workspace: Workspace):
    document = rows.make_document(workspace, "Log", TEXT)
    with access.in_workspace(workspace.pk):
        second = DocumentVersion.objects.create(
            workspace=workspace, document=document, number=2, blob="x", warnings=["It is faint."]
        )

        def count() -> tuple[DocumentVersion, tuple[str, ...]]:
            row = document_queries.document_row(workspace=workspace, document_id=document.pk)
            return document_queries.version_get(
                workspace=workspace, document=document
            ), row.warnings

        assert count()[0].number == 1
        assert count()[1] == ()
        document.live_number = 2
        document.save(update_fields=["live_number"])
        assert count() == (second, ("It is faint.",))


def test_a_job_without_a_version_says_so(workspace: Workspace):
    with pytest.raises(NotFoundError), access.in_workspace(workspace.pk):
        stage.version_of(IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE))


# --- counts ---------------------------------------------------------------------------------------
def test_every_state_is_counted_even_at_zero(workspace: Workspace):
    rows.make_document(workspace, "Log", TEXT)
    add(workspace)

    with access.in_workspace(workspace.pk):
        assert document_queries.state_counts(workspace=workspace) == {
            "queued": 1,
            "working": 0,
            "ready": 1,
            "attention": 0,
            "paused": 0,
        }


def test_a_workspace_counts_what_is_in_it(workspace: Workspace):
    document = rows.make_document(workspace, "Log", TEXT, names=NAMES)
    ada, bo = (rows.make_entity(workspace, name) for name in NAMES)
    rows.make_relationship(bo, ada, rows.chunks_of(document)[1], "sells")
    rows.make_report(workspace, "The light", [ada], rows.chunks_of(document))

    with access.in_workspace(workspace.pk):
        counts = document_queries.workspace_counts(workspace=workspace)

    assert (counts.documents, counts.passages, counts.entities) == (1, 2, 2)
    assert (counts.relationships, counts.topics) == (1, 1)


@pytest.mark.parametrize(
    ("state", "expected"),
    [(RunState.PENDING, True), (RunState.RUNNING, True), (RunState.DONE, False)],
)
def test_a_refresh_under_way_is_seen(workspace: Workspace, state: RunState, expected: bool):
    with access.in_workspace(workspace.pk):
        IngestionJob.objects.create(workspace=workspace, kind=JobKind.WORKSPACE, state=state)

        assert document_queries.is_refreshing(workspace=workspace) is expected
        assert outcomes.has_unfinished_work(workspace=workspace) is expected


def test_a_document_under_way_is_no_refresh(workspace: Workspace):
    add(workspace)

    with access.in_workspace(workspace.pk):
        assert not document_queries.is_refreshing(workspace=workspace)
        assert outcomes.has_unfinished_work(workspace=workspace)


# --- what is in a document ------------------------------------------------------------------------
def test_who_is_named_most_in_a_document_comes_first(workspace: Workspace):
    document = rows.make_document(workspace, "Log", TEXT, names=NAMES)
    rows.make_document(workspace, "Other", "Bo Strand. Bo Strand. Bo Strand.", names=NAMES)

    with access.in_workspace(workspace.pk):
        found = document_queries.entities_in(workspace=workspace, document=document)
        fewer = document_queries.entities_in(workspace=workspace, document=document, most=1)

    assert [entity.name for entity in found] == ["Ada Lind", "Bo Strand"]
    assert [entity.name for entity in fewer] == ["Ada Lind"]


# --- outcomes -------------------------------------------------------------------------------------
def test_an_outcome_counts_what_the_document_itself_says(workspace: Workspace):
    document = rows.make_document(workspace, "Log", TEXT, names=NAMES)
    other = rows.make_document(workspace, "Other", "Cora Vik.", names={"Cora Vik": "person"})
    ada, bo = (rows.make_entity(workspace, name) for name in NAMES)
    for predicate in ("sells", "brings"):
        rows.make_relationship(bo, ada, rows.chunks_of(document)[1], predicate)

    with access.in_workspace(workspace.pk):
        first, second = outcomes.document_outcomes(
            workspace=workspace, document_ids=[document.pk, other.pk]
        )

    assert (first.chunks, first.entities, first.relationships) == (2, 2, 1)
    assert (second.chunks, second.entities, second.relationships) == (1, 1, 0)


def test_outcomes_come_in_the_order_asked_for_each_once(workspace: Workspace):
    a, b = (rows.make_document(workspace, title, TEXT) for title in "ab")

    with access.in_workspace(workspace.pk):
        found = outcomes.document_outcomes(
            workspace=workspace, document_ids=[b.pk, a.pk, b.pk, uuid.uuid4()]
        )

    assert [outcome.document.title for outcome in found] == ["b", "a"]


def test_an_outcome_tells_what_stopped_the_document(workspace: Workspace):
    job = add(workspace)
    with access.in_workspace(workspace.pk):
        Document.objects.in_workspace(workspace).update(state=DocumentState.ATTENTION)
        IngestionJob.objects.in_workspace(workspace).update(problem={"code": "torn"})

        ids = [job.document_id] if job.document_id else []
        [outcome] = outcomes.document_outcomes(workspace=workspace, document_ids=ids)

    assert (outcome.document.state, outcome.problem) == ("attention", {"code": "torn"})


def test_the_versions_of_a_group_come_in_one_query(
    media: Path, django_assert_num_queries: DjangoAssertNumQueries
):
    workspace = rows.make_workspace()
    jobs = [fresh(add(workspace, f"{number}.txt", f"Lamp {number}.")) for number in range(5)]

    with access.in_workspace(workspace.pk), django_assert_num_queries(1):
        versions = stage.versions_of(jobs)
        titles = [version.document.title for version in versions]

    assert titles == [f"{number}.txt" for number in range(5)]
    assert [version.pk for version in versions] == [job.version_id for job in jobs]
