"""Parse: read a file's text, pages, headings and metadata.

In: the stored file.  Out: the version's text and what is known of its layout.
Safe to repeat: the version's fields are overwritten.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.utils import timezone

from ingestion.models import DocumentVersion, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from ingestion.parsers import Limits, ParsedDocument
from ingestion.parsers.sandbox import parse_in_sandbox
from ingestion.selectors import version_of
from kb_project.ports import Ports
from kb_project.text.languages import detect_language
from workspaces import access

TITLE_LENGTH = 500
READ = [
    "text",
    "language",
    "parser",
    "encoding",
    "pages",
    "headings",
    "metadata",
    "parsed_at",
]


def run(job: IngestionJob, _ports: Ports, _progress: Progress) -> StageOutcome:
    version = version_of(job)
    parsed = parse_in_sandbox(blob_path(version), name=version.document.name, limits=limits())
    with access.in_workspace(job.workspace_id):
        save(version, parsed)
    return StageOutcome(written=1, warnings=parsed.warnings)


def blob_path(version: DocumentVersion) -> Path:
    return Path(settings.MEDIA_ROOT) / version.blob


def limits() -> Limits:
    return Limits(
        seconds=settings.PARSE_SECONDS,
        memory_bytes=settings.PARSE_MEMORY_BYTES,
        max_bytes=settings.MAX_UPLOAD_BYTES,
    )


def save(version: DocumentVersion, parsed: ParsedDocument) -> None:
    """Write what was read, and fill in ``version`` for the stages that follow."""
    version.text = parsed.text
    version.language = detect_language(parsed.text)
    version.parser = parsed.parser
    version.encoding = parsed.encoding or ""
    version.pages = [[page.number, page.start, page.end] for page in parsed.pages]
    version.headings = [[head.level, head.title, head.start] for head in parsed.headings]
    version.metadata = parsed.metadata
    version.parsed_at = timezone.now()
    version.save(update_fields=READ)
    document = version.document
    # A title given by hand or by a data set stays; otherwise the document's own beats its name.
    given = document.title if document.title != document.name else parsed.title
    document.title = (given or document.name)[:TITLE_LENGTH]
    document.media_type = parsed.media_type
    document.save(update_fields=["title", "media_type", "updated_at"])
