from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from ingestion.models import Chunk, DocumentVersion, IngestionJob
from ingestion.stage import NO_PROGRESS
from ingestion.stages import chunk
from ingestion.stages.chunk.cutting import chunk_id, heading_paths, locations_of
from kb_project.llm.tokens import token_starts
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.jobs import add
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

TEXT = (
    "# Light\n\nAda Lind keeps it.\n\n## Oil\n\nBo Strand sells it.\n\n# Storms\n\nThe door broke."
)
HEADINGS = [
    [1, "Light", TEXT.index("# Light")],
    [2, "Oil", TEXT.index("## Oil")],
    [1, "Storms", TEXT.index("# Storms")],
]


def parsed(media: Path, **fields: object) -> IngestionJob:
    """A job whose document has been read; ``fields`` are those of its version."""
    job = add(rows.make_workspace())
    values = {"text": TEXT, "headings": HEADINGS, **fields}
    with access.in_workspace(job.workspace_id):
        DocumentVersion.objects.in_workspace(job.workspace_id).update(**values)
    return IngestionJob.objects.none().model(
        pk=job.pk,
        workspace_id=job.workspace_id,
        document_id=job.document_id,
        version_id=job.version_id,
    )


def run(job: IngestionJob) -> list[Chunk]:
    chunk.run([job], build_ports(), NO_PROGRESS)
    with access.in_workspace(job.workspace_id):
        return list(Chunk.objects.in_workspace(job.workspace_id).order_by("ordinal"))


# --- rows -----------------------------------------------------------------------------------------
def test_a_chunk_is_a_stretch_of_the_text(media: Path):
    chunks = run(parsed(media, chunking={"strategy": "sentence"}))

    assert len(chunks) > 3
    assert all(row.text == TEXT[row.start : row.end] for row in chunks)
    assert [row.ordinal for row in chunks] == list(range(len(chunks)))


def test_tokens_are_counted(media: Path):
    [whole] = run(parsed(media))

    assert whole.tokens == len(token_starts(TEXT))


def test_running_it_twice_is_running_it_once(media: Path):
    job = parsed(media, chunking={"strategy": "sentence"})

    first, second = run(job), run(job)

    assert [row.pk for row in first] == [row.pk for row in second]
    assert [row.text for row in first] == [row.text for row in second]


def test_another_cut_replaces_the_first(media: Path):
    job = parsed(media, chunking={"strategy": "sentence"})
    before = run(job)
    with access.in_workspace(job.workspace_id):
        DocumentVersion.objects.in_workspace(job.workspace_id).update(chunking={})
    again = IngestionJob(
        pk=job.pk,
        workspace_id=job.workspace_id,
        document_id=job.document_id,
        version_id=job.version_id,
    )

    after = run(again)

    assert (len(before) > 1, len(after)) == (True, 1)


def test_a_text_with_nothing_in_it_has_no_chunks(media: Path):
    assert run(parsed(media, text=" \n ", headings=[])) == []


# --- ways to cut ----------------------------------------------------------------------------------
def test_spans_that_are_given_are_taken(media: Path):
    spans = [[0, 7], [9, 27]]

    chunks = run(parsed(media, chunking={"strategy": "given", "spans": spans}))

    assert [[row.start, row.end] for row in chunks] == spans


def test_what_a_version_leaves_open_the_settings_decide(media: Path, settings):
    settings.CHUNK_STRATEGY, settings.CHUNK_TOKENS, settings.CHUNK_OVERLAP = "fixed", 8, 0

    chunks = run(parsed(media))

    assert {row.tokens for row in chunks[:-1]} == {8}


def test_a_version_may_ask_for_its_own_size(media: Path, settings):
    settings.CHUNK_STRATEGY = "fixed"

    chunks = run(parsed(media, chunking={"strategy": "fixed", "size": 5, "overlap": 0}))

    # A token of nothing but line ends is cut off again.
    assert {row.tokens for row in chunks[:-1]} <= {4, 5}


# --- places ---------------------------------------------------------------------------------------
def test_a_chunk_knows_the_headings_it_stands_under(media: Path):
    chunks = run(parsed(media, chunking={"strategy": "sentence"}))

    paths = {row.text.strip(): row.heading_path for row in chunks}
    assert next(path for text, path in paths.items() if "Ada" in text) == ["Light"]
    assert next(path for text, path in paths.items() if "Bo" in text) == ["Light", "Oil"]
    assert next(path for text, path in paths.items() if "door" in text) == ["Storms"]


def test_a_chunk_knows_its_pages(media: Path):
    half = TEXT.index("## Oil")
    pages = [[1, 0, half], [2, half, len(TEXT)]]

    chunks = run(parsed(media, pages=pages, chunking={"strategy": "fixed", "size": 12}))

    assert (chunks[0].page_first, chunks[-1].page_last) == (1, 2)
    assert all((row.page_first or 0) <= (row.page_last or 0) for row in chunks)


def test_a_document_without_pages_has_none(media: Path):
    assert {(row.page_first, row.page_last) for row in run(parsed(media))} == {(None, None)}


def test_a_span_before_the_first_page_has_no_page():
    [place] = locations_of([(0, 3)], pages=[[1, 5, 9]], headings=[])

    assert (place.page_first, place.page_last) == (None, None)


def test_a_heading_that_opens_a_span_counts():
    [place] = locations_of([(5, 9)], pages=[], headings=[[1, "A", 0], [2, "B", 5]])

    assert place.heading_path == ("A", "B")


@pytest.mark.parametrize(
    ("headings", "last"),
    [
        ([], ()),
        ([[1, "A", 0]], ("A",)),
        ([[1, "A", 0], [3, "C", 1], [2, "B", 2]], ("A", "B")),
        ([[2, "B", 0], [1, "A", 1]], ("A",)),
        ([[1, "A", 0], [1, "B", 1], [2, "C", 2]], ("B", "C")),
    ],
)
def test_a_path_holds_the_headings_still_open(headings: list[list[object]], last: tuple[str, ...]):
    assert heading_paths(headings)[-1] == last


# --- ids ------------------------------------------------------------------------------------------
def test_the_same_span_of_the_same_version_has_the_same_id():
    version, other = uuid.uuid4(), uuid.uuid4()

    assert chunk_id(version, 0, 9) == chunk_id(version, 0, 9)
    assert len({chunk_id(one, a, 9) for one in (version, other) for a in (0, 1)}) == 4
