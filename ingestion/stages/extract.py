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
from ingestion.extractors.model import Passage, Reading, extract_all, method_of
from ingestion.models import Chunk, ChunkExtraction, DocumentVersion, IngestionJob
from ingestion.stage import Progress, StageOutcome, versions_of
from kb_project.errors import PauseError, ReplyError
from kb_project.llm.ports import ChatModel
from kb_project.ports import Ports
from kb_project.sql import run_sql
from kb_project.text.regions import from_json
from workspaces import access

BATCH = 32
# Seconds. A slow model's answers are saved one by one, a fast one's by the batch.
SAVE_EVERY: Final = 5.0

NO_NAMES: Final = "No names were found in this document."
NOTHING_FOUND: Final = f"{NO_NAMES} Search finds it by keywords and meaning, but not by names."
UNREAD: Final = " could not be read by the model; "
KEPT: Final = "Its text and earlier findings are kept, and search finds it by keywords and meaning."
NEXT_STEP: Final = "Retry the passage."

Outcome = Reading | ReplyError

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
class Reader:
    """A document in progress: its unread passages, and counts of how the others went."""

    version: DocumentVersion
    waiting: list[Passage] = field(default_factory=list)
    done: int = 0
    unread: int = 0
    found: int = 0

    @property
    def total(self) -> int:
        return self.done + len(self.waiting)

    def outcome(self) -> StageOutcome:
        return StageOutcome(written=self.found, warnings=tuple(self._warnings()))

    def _warnings(self) -> Iterator[str]:
        if self.unread:
            yield unread_warning(self.unread, self.total)
        elif self.waiting and not self.done and not self.found:
            yield NOTHING_FOUND


def run(jobs: Sequence[IngestionJob], ports: Ports, progress: Progress) -> list[StageOutcome]:
    method = method_by(ports)
    by_version = load(jobs, method)
    readers = list(by_version.values())
    results = _said_by(ports.chat, readers, ports) if ports.chat else _linguistic(readers)
    save_all(jobs[0].workspace_id, method, readers, results, progress)
    return [by_version[version.pk].outcome() for version in versions_of(jobs)]


def method_by(ports: Ports) -> str:
    """Name of everything that determines what these ports find."""
    return method_of(ports.chat, ports.options) if ports.chat else METHOD


def unread_warning(unread: int, total: int) -> str:
    """
    >>> unread_warning(1, 40)
    "1 of 40 passages could not be read by the model; the document's page lists it for a retry."
    """
    them = "it" if unread == 1 else "them"
    return f"{unread} of {total} passages{UNREAD}the document's page lists {them} for a retry."


def load(jobs: Sequence[IngestionJob], method: str) -> dict[uuid.UUID, Reader]:
    """The jobs' versions, by id, with the chunks that this method has not read yet."""
    readers = {version.pk: Reader(version) for version in versions_of(jobs)}
    workspace_id = jobs[0].workspace_id
    read = ChunkExtraction.objects.in_workspace(workspace_id).filter(
        chunk_id=OuterRef("pk"), method=method
    )
    chunks = Chunk.objects.in_workspace(workspace_id).filter(version__in=list(readers))
    annotated = chunks.annotate(
        is_read=Exists(read), is_unread=Exists(read.filter(problem__isnull=False))
    )
    with access.in_workspace(workspace_id):
        for chunk in annotated.order_by("version_id", "ordinal"):
            reader = readers[chunk.version_id]
            reader.done += chunk.is_read
            reader.unread += chunk.is_unread
            if not chunk.is_read:
                reader.waiting.append(_passage(chunk, reader.version))
    return readers


def _passage(chunk: Chunk, version: DocumentVersion) -> Passage:
    return Passage(
        chunk_id=chunk.pk,
        document_id=chunk.document_id,
        text=chunk.text,
        start=chunk.start,
        title=version.document.title,
        headings=tuple(chunk.heading_path),
        regions=tuple(from_json(chunk.regions)),
    )


def _linguistic(readers: Sequence[Reader]) -> Iterator[tuple[Passage, Outcome | None]]:
    for reader in readers:
        common = common_words(reader.version.text) if reader.waiting else ()
        for first in range(0, len(reader.waiting), BATCH):
            batch = reader.waiting[first : first + BATCH]
            extractions = extract_many(
                [passage.text for passage in batch],
                regions=[passage.regions for passage in batch],
                language=reader.version.language,
                title=reader.version.document.title,
                common=common,
            )
            for passage, extraction in zip(batch, extractions, strict=True):
                yield passage, Reading(extraction)


def _said_by(
    chat: ChatModel, readers: Sequence[Reader], ports: Ports
) -> Iterator[tuple[Passage, Outcome | None]]:
    passages = [passage for reader in readers for passage in reader.waiting]
    if passages:
        for index, outcome in extract_all(passages, chat, ports.options):
            yield passages[index], outcome


def save_all(
    workspace_id: uuid.UUID,
    method: str,
    readers: Sequence[Reader],
    results: Iterator[tuple[Passage, Outcome | None]],
    progress: Progress,
) -> None:
    """Save outcomes as they arrive, so that a dying worker loses little."""
    by_document = {reader.version.document_id: reader for reader in readers}
    tally = _Tally(readers, progress)
    batch: list[tuple[Passage, Outcome]] = []
    try:
        for passage, outcome in results:
            if outcome is not None:
                batch.append((passage, outcome))
                count(by_document[passage.document_id], outcome)
            if len(batch) >= BATCH or tally.is_due():
                save(workspace_id, method, batch)
                tally.tell(len(batch))
                batch = []
    except PauseError:
        save(workspace_id, method, batch)
        raise
    save(workspace_id, method, batch)
    tally.tell(len(batch))


def count(reader: Reader, outcome: Outcome) -> None:
    if isinstance(outcome, ReplyError):
        reader.unread += 1
    else:
        reader.found += len(outcome.extraction.mentions)


class _Tally:
    """Progress of the group, reported for a long one, and every few seconds with a slow model."""

    def __init__(self, readers: Sequence[Reader], progress: Progress) -> None:
        self._done = sum(reader.done for reader in readers)
        self._total = sum(reader.total for reader in readers)
        self._is_long = self._total - self._done > BATCH
        self._progress = progress
        self._told = time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() - self._told > SAVE_EVERY

    def tell(self, saved: int) -> None:
        self._done += saved
        if (saved and self._is_long) or self.is_due():
            self._progress(self._done, self._total)
        self._told = time.monotonic()


def save(workspace_id: uuid.UUID, method: str, outcomes: Sequence[tuple[Passage, Outcome]]) -> None:
    """Save one row per passage, replacing what another method found in it.

    A passage that could not be read keeps its earlier findings.
    """
    read = [(one, said) for one, said in outcomes if not isinstance(said, ReplyError)]
    unread = [(one, said) for one, said in outcomes if isinstance(said, ReplyError)]
    values = {"workspace": workspace_id, "method": method}
    with access.in_workspace(workspace_id):
        if read:
            columns = {
                "chunks": [passage.chunk_id for passage, _ in read],
                "payloads": [
                    json.dumps(said.extraction.shifted(passage.start).as_json())
                    for passage, said in read
                ],
                "rejected": [json.dumps(said.rejected) for _, said in read],
            }
            run_sql(SAVE_READ, values | columns)
        if unread:
            columns = {
                "chunks": [passage.chunk_id for passage, _ in unread],
                "problems": [json.dumps(_problem(error)) for _, error in unread],
            }
            nothing = {"nothing": json.dumps(Extraction().as_json())}
            run_sql(SAVE_UNREAD, values | columns | nothing)


def _problem(outcome: ReplyError) -> dict[str, str]:
    return {
        "code": outcome.code,
        "happened": outcome.happened,
        "kept": outcome.kept or KEPT,
        "next_step": outcome.next_step or NEXT_STEP,
    }
