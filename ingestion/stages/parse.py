"""Parse: read files' text, pages, headings and metadata.

In: the stored files.  Out: each version's text and layout.
Safe to repeat: the versions' fields are overwritten. An unreadable file stops only its own
document.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, LiteralString

from django.conf import settings
from django.utils import timezone

from ingestion.models import DocumentVersion, IngestionJob
from ingestion.parsers import Limits, ParsedDocument
from ingestion.parsers.sandbox import default_sandbox
from ingestion.stage import Progress, StageOutcome, versions_of
from kb_project.errors import ParseError
from kb_project.ports import Ports
from kb_project.sql import run_sql
from kb_project.text.languages import detect_language
from kb_project.text.regions import as_json
from workspaces import access
from workspaces.models import Workspace

TITLE_LENGTH = 500

SAVE_VERSIONS: Final[LiteralString] = """
UPDATE ingestion_documentversion AS v
   SET text = t.text, language = t.language, parser = t.parser, encoding = t.encoding,
       pages = t.pages, headings = t.headings, regions = t.regions, metadata = t.metadata,
       parsed_at = %(now)s
  FROM unnest(%(versions)s::uuid[], %(texts)s::text[], %(languages)s::text[], %(parsers)s::text[],
              %(encodings)s::text[], %(pages)s::jsonb[], %(headings)s::jsonb[],
              %(regions)s::jsonb[], %(metadata)s::jsonb[])
       AS t (id, text, language, parser, encoding, pages, headings, regions, metadata)
 WHERE v.workspace_id = %(workspace)s AND v.id = t.id
"""
SAVE_DOCUMENTS: Final[LiteralString] = """
UPDATE ingestion_document AS d
   SET title = t.title, media_type = t.media_type, updated_at = %(now)s
  FROM unnest(%(documents)s::uuid[], %(titles)s::text[], %(types)s::text[])
       AS t (id, title, media_type)
 WHERE d.workspace_id = %(workspace)s AND d.id = t.id
"""


def run(jobs: Sequence[IngestionJob], _ports: Ports, progress: Progress) -> list[StageOutcome]:
    versions = versions_of(jobs)
    found = default_sandbox().parse_many(
        [
            (Path(settings.MEDIA_ROOT) / version.blob, version.name or version.document.name)
            for version in versions
        ],
        limits=limits(),
        on_read=lambda read: progress(read, len(versions)) if len(versions) > 1 else None,
    )
    pairs = zip(versions, found, strict=True)
    save([(version, one) for version, one in pairs if isinstance(one, ParsedDocument)])
    return [
        StageOutcome(failed=parsed)
        if isinstance(parsed, ParseError)
        else StageOutcome(written=1, warnings=parsed.warnings)
        for parsed in found
    ]


def limits() -> Limits:
    return Limits(
        seconds=settings.PARSE_SECONDS,
        memory_bytes=settings.PARSE_MEMORY_BYTES,
        max_bytes=settings.MAX_UPLOAD_BYTES,
    )


def save(read: Sequence[tuple[DocumentVersion, ParsedDocument]]) -> None:
    """Save what was read, and fill in the versions for the stages that follow."""
    if not read:
        return
    usual = Workspace.objects.values_list("document_language", flat=True).get(
        pk=read[0][0].workspace_id
    )
    for version, parsed in read:
        fill(version, parsed, usual)
    versions = [version for version, _ in read]
    values = {
        "workspace": versions[0].workspace_id,
        "now": timezone.now(),
        "versions": [version.pk for version in versions],
        "texts": [version.text for version in versions],
        "languages": [version.language for version in versions],
        "parsers": [version.parser for version in versions],
        "encodings": [version.encoding for version in versions],
        "pages": [json.dumps(version.pages) for version in versions],
        "headings": [json.dumps(version.headings) for version in versions],
        "regions": [json.dumps(version.regions) for version in versions],
        "metadata": [json.dumps(version.metadata) for version in versions],
        "documents": [version.document_id for version in versions],
        "titles": [version.document.title for version in versions],
        "types": [version.document.media_type for version in versions],
    }
    with access.in_workspace(versions[0].workspace_id):
        run_sql(SAVE_VERSIONS, values)
        run_sql(SAVE_DOCUMENTS, values)


def fill(version: DocumentVersion, parsed: ParsedDocument, usual: str) -> None:
    """Fill in the version, and its document's title and type, without saving them."""
    version.text = parsed.text
    version.language = detect_language(parsed.text, usual)
    version.parser = parsed.parser
    version.encoding = parsed.encoding or ""
    version.pages = [[page.number, page.start, page.end] for page in parsed.pages]
    version.headings = [[head.level, head.title, head.start] for head in parsed.headings]
    version.regions = as_json(parsed.regions)
    version.metadata = parsed.metadata
    version.parsed_at = timezone.now()
    document = version.document
    # A title given by a person or a data set stays; otherwise the parsed title beats the file name.
    given = document.title if document.title != document.name else parsed.title
    document.title = (given or document.name)[:TITLE_LENGTH]
    document.media_type = parsed.media_type
