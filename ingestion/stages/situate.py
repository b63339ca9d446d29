"""Situate: say where each chunk stands in its document, and index its words.

In: the chunks of a version.  Out: each chunk's context, kept apart from its text, and the postings
of both: from here on the document is found by words.
Safe to repeat: contexts are overwritten and postings replaced, in one transaction per batch.
Source: Contextual Retrieval (Anthropic, 2024); the local tier takes the context from the document
itself instead of asking a model.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from ingestion import sql
from ingestion.extractors.situating import situate
from ingestion.models import Chunk, DocumentVersion, IngestionJob, Posting
from ingestion.outcome import Progress, StageOutcome
from ingestion.selectors import version_of
from kb_project.ports import Ports
from kb_project.sql import run_sql
from kb_project.text.terms import terms
from workspaces import access

BATCH = 200
# A term longer than this is no word anybody asks for: a hash, an encoded image.
TERM_LENGTH = 80
MOST_FREQUENT = 32_767  # what the column holds


def run(job: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
    with access.in_workspace(job.workspace_id):
        version = version_of(job)
        chunks = list(
            Chunk.objects.in_workspace(job.workspace_id).filter(version=version).order_by("ordinal")
        )
    for chunk in chunks:
        chunk.context = context_of(chunk, version) if len(chunks) > 1 else title_of(version)
    written = 0
    for batch in batches(chunks, BATCH):
        with access.in_workspace(job.workspace_id):
            written += index_words(job.workspace_id, batch)
        if len(chunks) > BATCH:
            progress(batch[-1].ordinal + 1, len(chunks))
    return StageOutcome(written=written)


def title_of(version: DocumentVersion) -> str:
    """All the context a chunk needs that is a whole document."""
    return version.document.title


def context_of(chunk: Chunk, version: DocumentVersion) -> str:
    return situate(
        version.text,
        title=version.document.title,
        headings=[(level, title, start) for level, title, start in version.headings],
        start=chunk.start,
        end=chunk.end,
    )


def index_words(workspace_id: uuid.UUID, chunks: Sequence[Chunk]) -> int:
    """Write contexts, lengths and postings of some chunks; returns the number of postings."""
    rows: list[tuple[str, uuid.UUID, int]] = []
    for chunk in chunks:
        counts = term_counts(situated(chunk))
        chunk.terms = sum(counts.values())
        rows += [(term, chunk.pk, min(n, MOST_FREQUENT)) for term, n in counts.items()]
    ids = [chunk.pk for chunk in chunks]
    Posting.objects.in_workspace(workspace_id).filter(chunk_id__in=ids).delete()
    run_sql(
        sql.SITUATE_CHUNKS,
        {
            "workspace": workspace_id,
            "chunks": ids,
            "contexts": [chunk.context for chunk in chunks],
            "lengths": [chunk.terms for chunk in chunks],
        },
    )
    run_sql(
        sql.ADD_POSTINGS,
        {
            "workspace": workspace_id,
            "terms": [term for term, _, _ in rows],
            "chunks": [chunk_id for _, chunk_id, _ in rows],
            "frequencies": [frequency for _, _, frequency in rows],
        },
    )
    return len(rows)


def situated(chunk: Chunk) -> str:
    """What is searched and embedded: the context, then the text."""
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def term_counts(text: str) -> Counter[str]:
    return Counter(term for term in terms(text) if len(term) <= TERM_LENGTH)


def batches(chunks: Sequence[Chunk], size: int) -> Iterator[list[Chunk]]:
    iterator = iter(chunks)
    while batch := list(islice(iterator, size)):
        yield batch
