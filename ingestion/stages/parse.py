"""Parse: read a file's text, pages, headings and metadata.

In: the stored file.  Out: the version's text and what is known of its layout.
Safe to repeat: the version's fields are overwritten.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.utils import timezone

from ingestion.models import Document, DocumentVersion, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from ingestion.parsers import Limits, ParsedDocument
from ingestion.parsers.sandbox import parse_in_sandbox
from ingestion.selectors import version_of
from kb_project.ports import Ports
from kb_project.text.languages import detect_language
from workspaces import access

TITLE_LENGTH = 500


def run(job: IngestionJob, _ports: Ports, _progress: Progress) -> StageOutcome:
    with access.in_workspace(job.workspace_id):
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
    DocumentVersion.objects.in_workspace(version.workspace_id).filter(pk=version.pk).update(
        text=parsed.text,
        language=detect_language(parsed.text),
        parser=parsed.parser,
        encoding=parsed.encoding or "",
        pages=[[page.number, page.start, page.end] for page in parsed.pages],
        headings=[[heading.level, heading.title, heading.start] for heading in parsed.headings],
        metadata=parsed.metadata,
        parsed_at=timezone.now(),
    )
    document = version.document
    # A title given by hand or by a data set stays; otherwise the document's own beats its name.
    title = document.title if document.title != document.name else parsed.title
    Document.objects.in_workspace(version.workspace_id).filter(pk=document.pk).update(
        media_type=parsed.media_type, title=(title or document.name)[:TITLE_LENGTH]
    )
