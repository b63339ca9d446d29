from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.models import Document, DocumentVersion, IngestionJob
from ingestion.parsers import ParsedDocument
from ingestion.parsers.sandbox import ParserSandbox
from ingestion.stage import NO_PROGRESS, StageOutcome
from ingestion.stages import parse
from kb_project.errors import ParseError
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.jobs import add, document_of
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "fake_embedder")]

NOTE = "# Keepers of Skarrow\n\nAda Lind keeps the light.\n\n## Oil\n\nBo Strand sells it.\n"


def run(job: IngestionJob) -> StageOutcome:
    [outcome] = parse.run([job], build_ports(), NO_PROGRESS)
    return outcome


def version_of(job: IngestionJob) -> DocumentVersion:
    with access.in_workspace(job.workspace_id):
        return DocumentVersion.objects.in_workspace(job.workspace_id).get(pk=job.version_id)


def test_a_file_is_read_into_its_version():
    job = add(rows.make_workspace(), "note.md", NOTE)

    outcome = run(job)

    version = version_of(job)
    assert (outcome.written, outcome.warnings) == (1, ())
    assert "Ada Lind keeps the light." in version.text
    assert (version.parser, version.language) == ("markdown", "en")
    assert [(level, title) for level, title, _ in version.headings] == [
        (1, "Keepers of Skarrow"),
        (2, "Oil"),
    ]
    assert version.parsed_at is not None


def test_headings_point_into_the_text():
    job = add(rows.make_workspace(), "note.md", NOTE)

    run(job)

    version = version_of(job)
    assert all(
        version.text[start : start + 40].lstrip("# ").startswith(title)
        for _, title, start in version.headings
    )


def test_the_document_takes_its_own_title_and_kind():
    job = add(rows.make_workspace(), "note.md", NOTE)

    run(job)

    document = document_of(job)
    assert (document.title, document.media_type) == ("Keepers of Skarrow", "text/markdown")


def test_a_title_given_by_somebody_stays():
    job = add(rows.make_workspace(), "note.md", NOTE)
    with access.in_workspace(job.workspace_id):
        Document.objects.in_workspace(job.workspace_id).update(title="My note")

    run(job)

    assert document_of(job).title == "My note"


def test_a_title_without_end_is_cut():
    job = add(rows.make_workspace(), "note.md", f"# {'long ' * 500}\n\nOil.")

    run(job)

    assert len(document_of(job).title) <= parse.TITLE_LENGTH


def test_the_stages_that_follow_see_what_was_read():
    job = add(rows.make_workspace(), "note.md", NOTE)

    run(job)

    assert job.version is not None
    assert job.version.text == version_of(job).text


def test_running_it_twice_is_running_it_once():
    job = add(rows.make_workspace(), "note.md", NOTE)

    run(job)
    first = version_of(job)
    run(job)
    second = version_of(job)

    assert (first.text, first.headings, first.pages) == (
        second.text,
        second.headings,
        second.pages,
    )
    assert document_of(job).title == "Keepers of Skarrow"


@pytest.mark.parametrize("name", ["empty.txt", "blank.txt"])
def test_a_file_with_nothing_in_it_says_so(name: str):
    job = add(rows.make_workspace(), name, "" if name == "empty.txt" else " \n\n ")

    refused = run(job).failed

    assert isinstance(refused, ParseError)
    assert refused.happened
    assert refused.next_step


def test_one_that_cannot_be_read_stops_no_other_of_its_group():
    workspace = rows.make_workspace()
    jobs = [add(workspace, f"{number}.txt", f"Light number {number}.") for number in range(5)]
    jobs.insert(2, add(workspace, "empty.txt", ""))

    outcomes = parse.run(jobs, build_ports(), NO_PROGRESS)

    assert [outcome.failed is None for outcome in outcomes] == [True, True, False, True, True, True]
    texts = [version_of(job).text for job in jobs]
    assert texts == [f"Light number {n}." for n in range(2)] + [""] + [
        f"Light number {n}." for n in range(2, 5)
    ]


def test_a_name_never_leads_out_of_the_media_folder(media: Path):
    job = add(rows.make_workspace(), "../../../etc/passwd", "Oil and light.")

    run(job)

    files = [path for path in media.rglob("*") if path.is_file()]
    assert [path.name for path in files] == [str(job.version_id)]
    assert document_of(job).name == "passwd"


def test_the_limits_are_those_of_the_settings(settings):
    settings.PARSE_SECONDS, settings.PARSE_MEMORY_BYTES, settings.MAX_UPLOAD_BYTES = 3, 4, 5

    found = parse.limits()

    assert (found.seconds, found.memory_bytes, found.max_bytes) == (3, 4, 5)


def test_warnings_of_a_parser_are_handed_on(monkeypatch):
    job = add(rows.make_workspace(), "note.md", NOTE)
    parsed = ParsedDocument(
        text="Oil.",
        parser="text",
        media_type="text/plain",
        title="Oil",
        pages=(),
        headings=(),
        regions=(),
        metadata={},
        encoding=None,
        warnings=("It is faint.",),
    )
    monkeypatch.setattr(ParserSandbox, "parse_many", lambda *_args, **_options: [parsed])

    assert run(job).warnings == ("It is faint.",)
