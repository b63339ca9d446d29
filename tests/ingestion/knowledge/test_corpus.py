"""What searches count is kept with what is written, whoever writes it, and nobody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from ingestion.knowledge import corpus
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    CommonTerms,
    Community,
    CommunityReport,
    CorpusCount,
    Document,
)
from kb_project.llm.fake import FakeEmbedder
from kb_project.sql import run_sql
from tests import rows
from tests.patience import PATIENCE
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.models import Workspace

EMBEDDER = FakeEmbedder()
TEXT = "The lamp burns oil.\n\nThe tide is out.\n\nThe buoy sank at noon."


@pytest.fixture
def workspace(db: None) -> Iterator[Workspace]:
    made = rows.make_workspace()
    document = rows.make_document(made, "Harbour", TEXT)
    rows.embed_chunks(made, rows.chunks_of(document), EMBEDDER)
    with access.in_workspace(made.pk):
        yield made


def counted(workspace: Workspace) -> corpus.CorpusCounts:
    """Return the counts, which are those of the rows."""
    assert run_sql(corpus.MISCOUNTED, {"workspace": workspace.pk}) == []
    return corpus.counts(workspace_id=workspace.pk, fingerprint=EMBEDDER.fingerprint)


def test_what_was_added_is_counted(workspace: Workspace):
    found = counted(workspace)

    assert (found.documents, found.passages, found.vectors) == (1, 3, 3)


def test_vectors_of_another_model_are_counted_apart(workspace: Workspace):
    one = Chunk.objects.in_workspace(workspace).first()
    ChunkEmbedding.objects.create(
        workspace=workspace, chunk=one, fingerprint="another", vector=[1.0, 0.0]
    )

    assert counted(workspace).vectors == 3
    assert corpus.counts(workspace_id=workspace.pk, fingerprint="another").vectors == 1


def test_what_goes_with_a_document_is_no_longer_counted(workspace: Workspace):
    rows.make_document(workspace, "Other", "The light of Skarrow.")
    Document.objects.in_workspace(workspace).filter(title="Harbour").delete()

    found = counted(workspace)
    assert (found.documents, found.passages, found.vectors) == (1, 1, 0)


def test_a_document_in_the_trash_is_not_counted(workspace: Workspace):
    Document.objects.in_workspace(workspace).update(trashed_at="2026-01-01T00:00Z")

    assert counted(workspace).documents == 0


def test_passages_indexed_again_count_their_new_terms(workspace: Workspace):
    Chunk.objects.in_workspace(workspace).update(terms=None)
    counted(workspace)
    Chunk.objects.in_workspace(workspace).update(terms=7)
    counted(workspace)


def test_a_statement_that_was_undone_counts_nothing(workspace: Workspace):
    before = counted(workspace)
    with transaction.atomic():
        rows.make_document(workspace, "Other", TEXT)
        transaction.set_rollback(True)

    assert counted(workspace) == before


def test_rows_are_summed_up_when_the_corpus_changes(workspace: Workspace):
    for chunk in Chunk.objects.in_workspace(workspace):
        for number in range(20):
            Chunk.objects.in_workspace(workspace).filter(pk=chunk.pk).update(terms=number)
    before = counted(workspace)

    run_sql(corpus.CORPUS_CHANGED, {"workspace": workspace.pk})

    assert counted(workspace) == before
    fingerprints = 2  # none, and the embedder's
    assert CorpusCount.objects.in_workspace(workspace).count() == fingerprints


def test_topics_and_reports_are_counted_until_they_are_deleted(workspace: Workspace):
    topic = Community.objects.create(workspace=workspace, level=0, size=3)
    report = CommunityReport.objects.create(
        workspace=workspace, community=topic, title="Oil", summary="Oil burns.", rating=3
    )
    CommunityReport.objects.in_workspace(workspace).update(summary="Oil burns in the lamp.")

    assert (counted(workspace).topics, counted(workspace).reports) == (1, 1)
    report.delete()
    assert (counted(workspace).topics, counted(workspace).reports) == (1, 0)


@pytest.fixture
def large_from_three_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "LARGE", 3)
    monkeypatch.setattr(corpus, "COMMON", 2)


def having(workspace: Workspace, *terms: str) -> dict[str, int]:
    corpus.count_common_terms(workspace_id=workspace.pk)
    return corpus.passages_with(terms, workspace_id=workspace.pk)


def test_a_small_workspace_keeps_no_counts_of_terms(workspace: Workspace):
    assert having(workspace, "harbour", "oil", "gold") == {"harbour": 3, "oil": 1}
    assert not CommonTerms.objects.in_workspace(workspace).exists()


@pytest.mark.usefixtures("large_from_three_passages")
def test_in_a_large_one_common_terms_are_counted_once_for_all_questions(workspace: Workspace):
    assert having(workspace, "harbour", "oil", "gold") == {"harbour": 3, "oil": 1}
    assert CommonTerms.objects.in_workspace(workspace).get().terms == ["harbour"]
    CommonTerms.objects.in_workspace(workspace).update(passages=[2])

    assert having(workspace, "harbour", "oil") == {"harbour": 2, "oil": 1}


@pytest.mark.usefixtures("large_from_three_passages")
def test_they_are_counted_again_when_the_workspace_has_grown(workspace: Workspace):
    having(workspace)
    rows.make_document(workspace, "Harbour and pier", "The pier is long.")

    assert having(workspace, "harbour", "pier") == {"harbour": 4, "pier": 1}


def test_they_are_forgotten_when_it_is_large_no_longer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, large_from_three_passages: None
):
    having(workspace)
    monkeypatch.setattr(corpus, "LARGE", 4)

    assert having(workspace, "harbour") == {"harbour": 3}
    assert not CommonTerms.objects.in_workspace(workspace).exists()


def test_the_counts_go_with_their_workspace(db: None):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Harbour", TEXT)

    workspace_purge(workspace.pk)

    with access.in_workspace(workspace.pk):
        assert not CorpusCount.objects.in_workspace(workspace.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_one_who_writes_waits_for_nobody_else():
    workspace = rows.make_workspace()
    one, other = (rows.make_document(workspace, name, TEXT) for name in ("One", "Other"))

    def remove() -> None:
        with access.in_workspace(workspace.pk):
            run_sql("SET LOCAL lock_timeout = '5s'")
            Chunk.objects.in_workspace(workspace).filter(document=other).delete()
        connection.close()

    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(document=one).delete()
        beside = threading.Thread(target=remove)
        beside.start()
        beside.join(PATIENCE)
        assert not beside.is_alive()
        assert counted(workspace).passages == 0
    with access.in_workspace(workspace.pk):
        assert counted(workspace).passages == 0
