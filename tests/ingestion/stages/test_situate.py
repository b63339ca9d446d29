from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ingestion.models import Chunk, ChunkEmbedding, DocumentVersion, IngestionJob, Posting
from ingestion.stage import NO_PROGRESS, Progress
from ingestion.stages import chunk, situate
from kb_project.ports import build_ports
from kb_project.text.words import terms
from tests import rows
from tests.ingestion.jobs import add
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

TEXT = "# Light\n\nAda Lind keeps it. Ada Lind cleans it.\n\n# Oil\n\nBo Strand sells it."
HEADINGS = [[1, "Light", 0], [1, "Oil", TEXT.index("# Oil")]]


def chunked(
    media: Path, text: str = TEXT, *, title: str = "Keepers", **chunking: object
) -> IngestionJob:
    job = add(rows.make_workspace(), text=text)
    headings = HEADINGS if text == TEXT else []
    with access.in_workspace(job.workspace_id):
        versions = DocumentVersion.objects.in_workspace(job.workspace_id)
        versions.update(text=text, headings=headings, chunking=chunking)
        job.document.title = title
        job.document.save()
    chunk.run([job], build_ports(), NO_PROGRESS)
    return job


def read(job: IngestionJob, text: str) -> IngestionJob:
    """The job with its document read and cut."""
    with access.in_workspace(job.workspace_id):
        DocumentVersion.objects.in_workspace(job.workspace_id).filter(pk=job.version_id).update(
            text=text
        )
    chunk.run([job], build_ports(), NO_PROGRESS)
    return job


def chunks_of(job: IngestionJob) -> list[Chunk]:
    with access.in_workspace(job.workspace_id):
        return list(Chunk.objects.in_workspace(job.workspace_id).order_by("ordinal"))


def postings_of(job: IngestionJob, row: Chunk) -> dict[str, int]:
    with access.in_workspace(job.workspace_id):
        postings = Posting.objects.in_workspace(job.workspace_id).filter(chunk=row)
        return dict(postings.values_list("term", "frequency"))


def run(job: IngestionJob, progress: Progress = NO_PROGRESS) -> list[Chunk]:
    situate.run([job], build_ports(), progress)
    return chunks_of(job)


def test_a_context_stands_beside_the_text_not_in_it(media: Path):
    job = chunked(media, strategy="sentence")
    texts = [row.text for row in chunks_of(job)]

    situated = run(job)

    assert [row.text for row in situated] == texts
    assert all(row.context for row in situated)


def test_a_context_says_where_the_chunk_stands(media: Path):
    situated = run(chunked(media, strategy="sentence"))

    last = situated[-1]
    assert "Bo Strand" in last.text
    assert "Keepers" in last.context
    assert "Oil" in last.context


def test_a_chunk_that_is_the_whole_document_needs_only_its_title(media: Path):
    [whole] = run(chunked(media))

    assert whole.context == "Keepers"


def test_every_term_of_context_and_text_is_counted(media: Path):
    job = chunked(media, strategy="sentence")

    for row in run(job):
        expected = Counter(terms(f"{row.context}\n{row.text}"))
        assert postings_of(job, row) == expected
        assert row.terms == expected.total()


def test_a_document_is_found_by_a_word_of_its_title(media: Path):
    job = chunked(media, "Bo sells oil.", title="Lighthouse")

    [row] = run(job)

    assert set(terms("Lighthouse")) <= set(postings_of(job, row))


def test_chinese_is_found_by_pairs_of_characters(media: Path):
    job = chunked(media, "灯塔在北面。", title="灯塔")

    [row] = run(job)

    assert postings_of(job, row)["灯塔"] == 2


def test_running_it_twice_is_running_it_once(media: Path):
    job = chunked(media, strategy="sentence")

    first = [(row.context, row.terms, postings_of(job, row)) for row in run(job)]
    second = [(row.context, row.terms, postings_of(job, row)) for row in run(job)]

    assert first == second


def test_a_word_that_nobody_asks_for_is_no_term(media: Path):
    job = chunked(media, "x" * 5000 + " oil")

    [row] = run(job)

    assert set(postings_of(job, row)) == set(terms("oil Keepers"))


def test_a_word_repeated_without_end_fits_its_column(media: Path):
    job = chunked(media, "oil " * 40_000, strategy="given", spans=[[0, 160_000]])

    [row] = run(job)

    assert postings_of(job, row)["oil"] == situate.MOST_FREQUENT
    assert row.terms == 40_001


def test_progress_is_reported_for_long_documents_only(media: Path, monkeypatch):
    monkeypatch.setattr(situate, "BATCH", 2)
    reports: list[tuple[int, int]] = []

    run(
        chunked(media, strategy="sentence"),
        Progress(lambda done, total: reports.append((done, total))),
    )

    assert reports[-1][0] == reports[-1][1]
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_a_group_of_documents_is_situated_each_by_itself(media: Path):
    workspace = rows.make_workspace()
    jobs = [read(add(workspace, f"{name}.txt", name), f"{name} rows.") for name in ("Ada", "Bo")]

    outcomes = situate.run(jobs, build_ports(), NO_PROGRESS)

    contexts = {row.text: row.context for row in chunks_of(jobs[0])}
    assert contexts == {"Ada rows.": "Ada.txt", "Bo rows.": "Bo.txt"}
    found = [
        sum(
            len(postings_of(job, row)) for row in chunks_of(job) if row.version_id == job.version_id
        )
        for job in jobs
    ]
    assert [outcome.written for outcome in outcomes] == found


def test_a_group_takes_as_many_statements_as_one_document(media, django_assert_max_num_queries):
    workspace = rows.make_workspace()
    jobs = [read(add(workspace, f"{n}.txt", f"Lamp {n}."), f"Lamp {n}.") for n in range(30)]

    with django_assert_max_num_queries(25):
        situate.run(jobs, build_ports(), NO_PROGRESS)


def test_a_changed_context_drops_the_vector_that_was_made_of_it(media: Path):
    job = chunked(media, strategy="sentence")
    situated = run(job)
    rows.embed_chunks(job.workspace, situated, build_ports().embedder)
    with access.in_workspace(job.workspace_id):
        Chunk.objects.in_workspace(job.workspace_id).filter(pk=situated[0].pk).update(context="x")

    run(job)

    with access.in_workspace(job.workspace_id):
        kept = ChunkEmbedding.objects.in_workspace(job.workspace_id)
        assert {row.chunk_id for row in kept} == {row.pk for row in situated[1:]}
