from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ingestion.models import Chunk, ChunkEmbedding, IngestionJob
from ingestion.stage import NO_PROGRESS, Progress
from ingestion.stages import chunk, embed
from ingestion.vectors import sentences
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import Vectors
from kb_project.ports import Ports, build_ports
from tests import rows
from tests.ingestion.jobs import add, fresh
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

SENTENCES = " ".join(f"Keeper number {number} trims the wick." for number in range(20))


class NotingEmbedder(FakeEmbedder):
    """Remembers what it was given, and may stop after so many batches."""

    def __init__(self, *, name: str = "", most: int = 99) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self._name, self._most = name, most

    @property
    def fingerprint(self) -> str:
        return self._name or super().fingerprint

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if len(self.batches) >= self._most:
            raise InterruptedError
        self.batches.append(list(texts))
        return super().embed_passages(texts)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


@pytest.fixture
def job(media: Path) -> IngestionJob:
    """Twenty chunks with a context each."""
    job = add(rows.make_workspace(), text=SENTENCES)
    with access.in_workspace(job.workspace_id):
        job.version.text, job.version.chunking = SENTENCES, {"strategy": "sentence"}
        job.version.save()
    job = fresh(job)
    chunk.run([job], build_ports(), NO_PROGRESS)
    with access.in_workspace(job.workspace_id):
        Chunk.objects.in_workspace(job.workspace_id).update(context="Keepers")
    return job


def ports(embedder: FakeEmbedder) -> Ports:
    return replace(build_ports(), embedder=embedder)


def vectors(job: IngestionJob) -> list[ChunkEmbedding]:
    with access.in_workspace(job.workspace_id):
        rows_ = ChunkEmbedding.objects.in_workspace(job.workspace_id).select_related("chunk")
        return list(rows_.order_by("chunk__ordinal"))


def test_every_chunk_gets_the_vector_of_its_situated_text(job: IngestionJob):
    embedder = NotingEmbedder()

    [outcome] = embed.run([job], ports(embedder), NO_PROGRESS)

    made = vectors(job)
    assert outcome.written == len(made) == 20
    assert embedder.texts == [f"Keepers\n{row.chunk.text}" for row in made]
    expected = FakeEmbedder().embed_passages(embedder.texts)
    stored = np.array([list(row.vector) for row in made])
    assert np.allclose(stored, expected, atol=1e-3)


def test_a_chunk_without_context_is_embedded_as_it_is(job: IngestionJob):
    with access.in_workspace(job.workspace_id):
        Chunk.objects.in_workspace(job.workspace_id).update(context="")
    embedder = NotingEmbedder()

    embed.run([job], ports(embedder), NO_PROGRESS)

    assert embedder.texts == [row.chunk.text for row in vectors(job)]


def test_batches_are_small_enough_to_lose(job: IngestionJob):
    embedder = NotingEmbedder()

    embed.run([job], ports(embedder), NO_PROGRESS)

    assert [len(batch) for batch in embedder.batches] == [embed.BATCH, 20 - embed.BATCH]


def test_running_it_twice_embeds_nothing_twice(job: IngestionJob):
    embed.run([job], ports(NotingEmbedder()), NO_PROGRESS)
    again = NotingEmbedder()

    [outcome] = embed.run([job], ports(again), NO_PROGRESS)

    assert (outcome.written, again.batches) == (0, [])


def test_a_run_that_was_cut_off_goes_on_where_it_stopped(job: IngestionJob):
    with pytest.raises(InterruptedError):
        embed.run([job], ports(NotingEmbedder(most=1)), NO_PROGRESS)
    rest = NotingEmbedder()

    embed.run([job], ports(rest), NO_PROGRESS)

    assert len(rest.texts) == 20 - embed.BATCH
    assert len(vectors(job)) == 20


def test_another_model_makes_every_vector_anew_beside_the_old(job: IngestionJob):
    embed.run([job], ports(NotingEmbedder()), NO_PROGRESS)

    embed.run([job], ports(NotingEmbedder(name="another model")), NO_PROGRESS)

    made = Counter(row.fingerprint for row in vectors(job))
    assert made["another model"] == 20
    assert made.total() == 40


def test_progress_counts_what_was_there_already(job: IngestionJob, monkeypatch):
    monkeypatch.setattr(embed, "BATCH", 8)
    monkeypatch.setattr(sentences, "BATCH", 20)
    with pytest.raises(InterruptedError):
        embed.run([job], ports(NotingEmbedder(most=1)), NO_PROGRESS)
    reports: list[tuple[int, int]] = []

    embed.run(
        [job],
        ports(NotingEmbedder()),
        Progress(lambda done, total: reports.append((done, total))),
    )

    assert reports == [(16, 20), (20, 20)]


def test_a_batch_that_is_all_there_is_reports_nothing(job: IngestionJob, monkeypatch):
    monkeypatch.setattr(embed, "BATCH", 20)
    monkeypatch.setattr(sentences, "BATCH", 20)
    reports: list[tuple[int, int]] = []

    embed.run(
        [job],
        ports(NotingEmbedder()),
        Progress(lambda done, total: reports.append((done, total))),
    )

    assert reports == []


def test_sentences_report_their_progress_after_the_chunks(job: IngestionJob, monkeypatch):
    monkeypatch.setattr(embed, "BATCH", 20)
    reports: list[tuple[int, int]] = []

    embed.run(
        [job],
        ports(NotingEmbedder()),
        Progress(lambda done, total: reports.append((done, total))),
    )

    assert reports == [(8, 20), (16, 20), (20, 20)]


def test_a_document_without_chunks_is_done_at_once(job: IngestionJob):
    with access.in_workspace(job.workspace_id):
        Chunk.objects.in_workspace(job.workspace_id).delete()

    [outcome] = embed.run([job], ports(NotingEmbedder(most=0)), NO_PROGRESS)

    assert outcome.written == 0
