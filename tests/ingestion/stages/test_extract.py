from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.extractors import METHOD, Extraction
from ingestion.extractors.extraction import FoundMention
from ingestion.models import ChunkExtraction, DocumentVersion, IngestionJob
from ingestion.stage import NO_PROGRESS, Progress, StageOutcome
from ingestion.stages import chunk, extract
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.jobs import add
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

TEXT = (
    "Ada Lind keeps the light of Skarrow.\n\nIn 1974 Bo Strand founded the Breck Glass Company in"
    " Hollow Bay.\n\nThe stairs are wet in winter."
)
SPANS = [[TEXT.index(part), TEXT.index(part) + len(part)] for part in TEXT.split("\n\n")]


def chunked(
    media: Path, text: str = TEXT, *, language: str = "en", place: str = "Harbour"
) -> IngestionJob:
    job = add(rows.make_workspace(place), text=text)
    chunking = {"strategy": "given", "spans": SPANS} if text == TEXT else {}
    with access.in_workspace(job.workspace_id):
        DocumentVersion.objects.in_workspace(job.workspace_id).update(
            text=text, language=language, chunking=chunking
        )
    chunk.run([job], build_ports(), NO_PROGRESS)
    return job


def run(job: IngestionJob, progress: Progress = NO_PROGRESS) -> StageOutcome:
    [outcome] = extract.run([job], build_ports(), progress)
    return outcome


def found(job: IngestionJob) -> list[Extraction]:
    with access.in_workspace(job.workspace_id):
        rows_ = ChunkExtraction.objects.in_workspace(job.workspace_id).order_by("chunk__ordinal")
        return [Extraction.from_json(row.payload) for row in rows_]


def surfaces(extraction: Extraction) -> set[str]:
    return {mention.surface for mention in extraction.mentions}


def test_every_chunk_has_what_was_found_in_it(media: Path):
    job = chunked(media)

    outcome = run(job)

    first, second, _third = found(job)
    assert "Ada Lind" in surfaces(first)
    assert {"Bo Strand", "Breck Glass Company"} <= surfaces(second)
    assert outcome.written == sum(len(one.mentions) for one in found(job))


def test_offsets_are_those_of_the_document(media: Path):
    job = chunked(media)

    run(job)

    for extraction in found(job):
        for mention in extraction.mentions:
            assert " ".join(TEXT[mention.start : mention.end].split()) == mention.surface
        for relation in extraction.relations:
            assert 0 <= relation.start < relation.end <= len(TEXT)


def test_a_relation_names_two_mentions_of_its_chunk(media: Path):
    job = chunked(media)

    run(job)

    for extraction in found(job):
        for relation in extraction.relations:
            assert relation.source != relation.target
            assert max(relation.source, relation.target) < len(extraction.mentions)


def test_chinese_is_read_too(media: Path):
    job = chunked(media, "朱元璋在南京建立了明朝。", language="zh")

    run(job)

    [extraction] = found(job)
    assert {"朱元璋", "南京"} <= surfaces(extraction)


def test_what_was_read_is_not_read_again(media: Path, monkeypatch):
    job = chunked(media)
    run(job)
    read: list[object] = []
    monkeypatch.setattr(extract, "extract_many", lambda texts, **_: read.append(texts) or [])

    assert run(job).written == 0
    assert read == []


def test_a_new_method_reads_everything_again(media: Path, monkeypatch):
    job = chunked(media)
    run(job)
    monkeypatch.setattr(extract, "METHOD", "a better one")

    run(job)

    with access.in_workspace(job.workspace_id):
        methods = set(
            ChunkExtraction.objects.in_workspace(job.workspace_id).values_list("method", flat=True)
        )
    assert methods == {"a better one"}
    assert METHOD != "a better one"


def test_a_run_that_was_cut_off_goes_on_where_it_stopped(media: Path, monkeypatch):
    job = chunked(media)
    monkeypatch.setattr(extract, "BATCH", 1)
    given: list[list[str]] = []

    def one_then_stop(texts: list[str], **_: object) -> list[Extraction]:
        given.append(list(texts))
        if len(given) == 2:
            raise InterruptedError
        return [Extraction() for _ in texts]

    monkeypatch.setattr(extract, "extract_many", one_then_stop)
    with pytest.raises(InterruptedError):
        run(job)
    run(job)

    assert [texts[0][:3] for texts in given] == ["Ada", "In ", "In ", "The"]


def test_a_document_without_names_says_what_that_means(media: Path, monkeypatch):
    monkeypatch.setattr(extract, "extract_many", lambda texts, **_: [Extraction() for _ in texts])

    assert run(chunked(media)).warnings == (extract.NOTHING_FOUND,)


def test_a_document_with_one_name_warns_of_nothing(media: Path, monkeypatch):
    one = Extraction((FoundMention(0, 3, "Ada", "person", "ner"),))
    monkeypatch.setattr(
        extract, "extract_many", lambda texts, **_: [one, *(Extraction() for _ in texts[1:])]
    )

    assert run(chunked(media)).warnings == ()


def test_an_empty_document_has_nothing_to_warn_about(media: Path):
    job = chunked(media, " ")

    assert run(job) == StageOutcome()


def test_progress_is_reported_for_long_documents_only(media: Path, monkeypatch):
    reports: list[tuple[int, int]] = []
    note = Progress(lambda done, total: reports.append((done, total)))

    run(chunked(media), note)
    short = list(reports)
    monkeypatch.setattr(extract, "BATCH", 2)
    run(chunked(media, place="Elsewhere"), note)

    assert (short, reports) == ([], [(2, 3), (3, 3)])
