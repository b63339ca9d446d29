"""Extract: find the entities in each chunk and the relationships between them.

In: the chunks of a group of versions.  Out: one ChunkExtraction per chunk, with offsets in the
document's text. A chunk that the chat model could not read has the reason instead, and can be
retried alone.
Safe to repeat: chunks already read by this method are skipped. Each batch is committed, and the
model's replies are cached.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, LiteralString

from django.db.models import Exists, OuterRef

from ingestion.extractors import METHOD, Extraction, extract_many
from ingestion.extractors.edges import common_words
from ingestion.extractors.model import ChunkText, Findings, extract_all, method_of
from ingestion.models import Chunk, ChunkExtraction, DocumentVersion, IngestionJob
from ingestion.stage import Progress, StageOutcome, versions_of
from kb_project.errors import PauseError, ReplyError
from kb_project.llm.ports import ChatModel, ModelOptions
from kb_project.ports import Ports
from kb_project.sql import run_sql
from kb_project.text.regions import from_json, is_furniture
from workspaces import access

BATCH = 32
# Seconds. A slow model's answers are saved one by one, a fast one's by the batch.
SAVE_EVERY: Final = 5.0

NO_NAMES: Final = "No names were found in this document."
NOTHING_FOUND: Final = f"{NO_NAMES} Search finds it by keywords and meaning, but not by names."
UNREAD: Final = " could not be read by the model; "
KEPT: Final = "Its text and earlier findings are kept, and search finds it by keywords and meaning."
NEXT_STEP: Final = "Retry the passage."

Outcome = Findings | ReplyError
Outcomes = Iterator[tuple[ChunkText, Outcome | None]]

# A passage that was archived or replaced meanwhile gets no row.
SAVE_READ: Final[LiteralString] = """
INSERT INTO ingestion_chunkextraction (workspace_id, chunk_id, method, payload, rejected)
SELECT %(workspace)s, c.id, %(method)s, t.payload, t.rejected
  FROM unnest(%(chunks)s::uuid[], %(payloads)s::jsonb[], %(rejected)s::jsonb[])
       AS t (chunk, payload, rejected)
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = t.chunk
   FOR KEY SHARE OF c
    ON CONFLICT (workspace_id, chunk_id) DO UPDATE
   SET method = excluded.method, problem = NULL, payload = excluded.payload,
       rejected = excluded.rejected
"""
SAVE_UNREAD: Final[LiteralString] = """
INSERT INTO ingestion_chunkextraction (workspace_id, chunk_id, method, payload, problem, rejected)
SELECT %(workspace)s, c.id, %(method)s, %(nothing)s::jsonb, t.problem, '{}'
  FROM unnest(%(chunks)s::uuid[], %(problems)s::jsonb[]) AS t (chunk, problem)
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = t.chunk
   FOR KEY SHARE OF c
    ON CONFLICT (workspace_id, chunk_id) DO UPDATE
   SET method = excluded.method, problem = excluded.problem
"""


@dataclass(slots=True)
class VersionInProgress:
    """A version, its passages that this method has not read, and counts of the others."""

    version: DocumentVersion
    waiting: list[ChunkText] = field(default_factory=list)
    done: int = 0
    unread: int = 0
    found: int = 0

    @property
    def total(self) -> int:
        return self.done + len(self.waiting)

    def outcome(self) -> StageOutcome:
        warnings: tuple[str, ...] = ()
        if self.unread:
            warnings = (unread_warning(self.unread, self.total),)
        elif self.waiting and not self.done and not self.found:
            warnings = (NOTHING_FOUND,)
        return StageOutcome(written=self.found, warnings=warnings)


def run(jobs: Sequence[IngestionJob], ports: Ports, progress: Progress) -> list[StageOutcome]:
    method = method_by(ports)
    versions = load(jobs, method)
    chat = ports.reader
    outcomes = _by_model(versions, chat, ports.options) if chat else _by_rules(versions)
    save_all(jobs[0].workspace_id, method, versions, outcomes, progress)
    return [one.outcome() for one in versions]


def method_by(ports: Ports) -> str:
    """Name of everything that determines what these ports find."""
    return method_of(ports.reader, ports.options) if ports.reader else METHOD


def unread_warning(unread: int, total: int) -> str:
    """
    >>> unread_warning(1, 40)
    "1 of 40 passages could not be read by the model; the document's page lists it for a retry."
    """
    them = "it" if unread == 1 else "them"
    return f"{unread} of {total} passages{UNREAD}the document's page lists {them} for a retry."


def load(jobs: Sequence[IngestionJob], method: str) -> list[VersionInProgress]:
    """The jobs' versions with the chunks that this method has not read yet."""
    versions = {version.pk: VersionInProgress(version) for version in versions_of(jobs)}
    workspace_id = jobs[0].workspace_id
    read = ChunkExtraction.objects.in_workspace(workspace_id).filter(
        chunk_id=OuterRef("pk"), method=method
    )
    chunks = Chunk.objects.in_workspace(workspace_id).filter(version__in=list(versions))
    annotated = chunks.annotate(
        is_read=Exists(read), is_unread=Exists(read.filter(problem__isnull=False))
    )
    with access.in_workspace(workspace_id):
        for chunk in annotated.order_by("version_id", "ordinal"):
            one = versions[chunk.version_id]
            one.done += chunk.is_read
            one.unread += chunk.is_unread
            if not chunk.is_read:
                one.waiting.append(_chunk_text(chunk, one.version))
    return list(versions.values())


def _chunk_text(chunk: Chunk, version: DocumentVersion) -> ChunkText:
    return ChunkText(
        chunk_id=chunk.pk,
        document_id=chunk.document_id,
        text=chunk.text,
        start=chunk.start,
        title=version.document.title,
        headings=tuple(chunk.heading_path),
        language=version.language,
        regions=tuple(from_json(chunk.regions)),
    )


def _by_rules(versions: Sequence[VersionInProgress]) -> Outcomes:
    for one in versions:
        common = common_words(one.version.text) if one.waiting else ()
        for first in range(0, len(one.waiting), BATCH):
            batch = one.waiting[first : first + BATCH]
            extractions = extract_many(
                [passage.text for passage in batch],
                regions=[passage.regions for passage in batch],
                language=one.version.language,
                title=one.version.document.title,
                common=common,
            )
            for passage, extraction in zip(batch, extractions, strict=True):
                yield passage, Findings(extraction)


def _by_model(
    versions: Sequence[VersionInProgress], chat: ChatModel, options: ModelOptions
) -> Outcomes:
    passages = []
    for passage in (passage for one in versions for passage in one.waiting):
        # Licences, menus and contents lists are not what a document is about.
        if is_furniture(passage.text, passage.regions):
            yield passage, Findings(Extraction())
        else:
            passages.append(passage)
    if passages:
        for index, outcome in extract_all(passages, chat, options):
            yield passages[index], outcome


def save_all(
    workspace_id: uuid.UUID,
    method: str,
    versions: Sequence[VersionInProgress],
    outcomes: Outcomes,
    progress: Progress,
) -> None:
    """Save outcomes as they arrive, so that a dying worker loses little."""
    by_document = {one.version.document_id: one for one in versions}
    reports = _ProgressReports(versions, progress)
    batch: list[tuple[ChunkText, Outcome]] = []
    try:
        for passage, outcome in outcomes:
            if outcome is not None:
                batch.append((passage, outcome))
                version = by_document[passage.document_id]
                if isinstance(outcome, ReplyError):
                    version.unread += 1
                else:
                    version.found += len(outcome.extraction.mentions)
            if len(batch) >= BATCH or reports.is_due():
                save(workspace_id, method, batch)
                reports.add(len(batch))
                batch = []
    except PauseError:
        save(workspace_id, method, batch)
        raise
    save(workspace_id, method, batch)
    reports.add(len(batch))


class _ProgressReports:
    """Progress of the group, reported for a long one, and every few seconds with a slow model."""

    def __init__(self, versions: Sequence[VersionInProgress], progress: Progress) -> None:
        self._done = sum(one.done for one in versions)
        self._total = sum(one.total for one in versions)
        self._is_long = self._total - self._done > BATCH
        self._progress = progress
        self._reported = time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() - self._reported > SAVE_EVERY

    def add(self, saved: int) -> None:
        self._done += saved
        if (saved and self._is_long) or self.is_due():
            self._progress(self._done, self._total)
        self._reported = time.monotonic()


def save(
    workspace_id: uuid.UUID, method: str, outcomes: Sequence[tuple[ChunkText, Outcome]]
) -> None:
    """Save one row per passage, replacing what another method found in it.

    A passage that could not be read keeps its earlier findings.
    """
    read = [(chunk, found) for chunk, found in outcomes if not isinstance(found, ReplyError)]
    unread = [(chunk, error) for chunk, error in outcomes if isinstance(error, ReplyError)]
    values = {"workspace": workspace_id, "method": method}
    with access.in_workspace(workspace_id):
        if read:
            columns = {
                "chunks": [chunk.chunk_id for chunk, _ in read],
                "payloads": [
                    json.dumps(found.extraction.shifted(chunk.start).as_json())
                    for chunk, found in read
                ],
                "rejected": [json.dumps(found.rejected) for _, found in read],
            }
            run_sql(SAVE_READ, values | columns)
        if unread:
            columns = {
                "chunks": [chunk.chunk_id for chunk, _ in unread],
                "problems": [
                    json.dumps(error.problem(kept=KEPT, next_step=NEXT_STEP)) for _, error in unread
                ],
                "nothing": json.dumps(Extraction().as_json()),
            }
            run_sql(SAVE_UNREAD, values | columns)
