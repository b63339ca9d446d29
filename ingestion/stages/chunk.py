"""Chunk: cut documents' texts into overlapping spans.

In: the texts of parsed versions.  Out: Chunk rows whose offsets point into them.
Safe to repeat: chunk ids follow from version and offsets, and the versions' old chunks are
replaced in the same transaction.
"""

from __future__ import annotations

import json
import struct
import uuid
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, LiteralString

from django.conf import settings

from ingestion.models import Chunk, DocumentVersion, IngestionJob
from ingestion.outcome import Progress, StageOutcome
from ingestion.selectors import versions_of
from kb_project.llm.tokens import token_starts
from kb_project.ports import Ports
from kb_project.sql import run_sql
from kb_project.text.splitting import (
    Offsets,
    Span,
    split_fixed,
    split_sentences,
    split_tokens,
    token_range,
)
from workspaces import access

BATCH: Final = 500

ADD_CHUNKS: Final[LiteralString] = """
INSERT INTO ingestion_chunk (workspace_id, id, document_id, version_id, ordinal, start, "end",
       text, context, tokens, page_first, page_last, heading_path)
SELECT %(workspace)s, t.id, t.document, t.version, t.ordinal, t.first, t.last, t.text, '', t.tokens,
       t.page_first, t.page_last, ARRAY(SELECT jsonb_array_elements_text(t.path))
  FROM unnest(%(ids)s::uuid[], %(documents)s::uuid[], %(versions)s::uuid[], %(ordinals)s::int4[],
              %(starts)s::int4[], %(ends)s::int4[], %(texts)s::text[], %(tokens)s::int4[],
              %(firsts)s::int4[], %(lasts)s::int4[], %(paths)s::jsonb[])
       AS t (id, document, version, ordinal, first, last, text, tokens, page_first, page_last, path)
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands in its document."""

    page_first: int | None
    page_last: int | None
    heading_path: tuple[str, ...]


def run(jobs: Sequence[IngestionJob], _ports: Ports, _progress: Progress) -> list[StageOutcome]:
    versions = versions_of(jobs)
    cut = [cut_up(version) for version in versions]
    rows = [chunk for chunks in cut for chunk in chunks]
    with access.in_workspace(versions[0].workspace_id):
        old = Chunk.objects.in_workspace(versions[0].workspace_id).filter(version__in=versions)
        # To look costs less than to delete what is not there.
        if old.exists():
            old.delete()
        for first in range(0, len(rows), BATCH):
            add(rows[first : first + BATCH])
    return [StageOutcome(written=len(chunks)) for chunks in cut]


def cut_up(version: DocumentVersion) -> list[Chunk]:
    starts = token_starts(version.text)
    return build_chunks(version, spans_of(version, starts), starts)


def add(chunks: Sequence[Chunk]) -> None:
    run_sql(
        ADD_CHUNKS,
        {
            "workspace": chunks[0].workspace_id,
            "ids": [chunk.pk for chunk in chunks],
            "documents": [chunk.document_id for chunk in chunks],
            "versions": [chunk.version_id for chunk in chunks],
            "ordinals": [chunk.ordinal for chunk in chunks],
            "starts": [chunk.start for chunk in chunks],
            "ends": [chunk.end for chunk in chunks],
            "texts": [chunk.text for chunk in chunks],
            "tokens": [chunk.tokens for chunk in chunks],
            "firsts": [chunk.page_first for chunk in chunks],
            "lasts": [chunk.page_last for chunk in chunks],
            "paths": [json.dumps(chunk.heading_path) for chunk in chunks],
        },
    )


def spans_of(version: DocumentVersion, starts: Offsets) -> list[Span]:
    """The spans that the version's ``chunking`` asks for; what it leaves open, settings decide."""
    chunking = version.chunking
    strategy = chunking.get("strategy", settings.CHUNK_STRATEGY)
    size = chunking.get("size", settings.CHUNK_TOKENS)
    overlap = chunking.get("overlap", settings.CHUNK_OVERLAP)
    text = version.text
    if strategy == "given":
        return [(start, end) for start, end in chunking["spans"]]
    if strategy == "sentence":
        return split_sentences(text, starts=starts, size=size)
    if strategy == "fixed":
        return split_fixed(text, starts=starts, size=size, overlap=overlap)
    headings = [start for _level, _title, start in version.headings]
    return split_tokens(text, starts=starts, size=size, overlap=overlap, headings=headings)


def build_chunks(version: DocumentVersion, spans: Sequence[Span], starts: Offsets) -> list[Chunk]:
    places = places_of(spans, pages=version.pages, headings=version.headings)
    ranges = [token_range(starts, start, end) for start, end in spans]
    return [
        Chunk(
            id=chunk_id(version.pk, start, end),
            workspace_id=version.workspace_id,
            document_id=version.document_id,
            version=version,
            ordinal=ordinal,
            start=start,
            end=end,
            text=version.text[start:end],
            tokens=last - first,
            page_first=place.page_first,
            page_last=place.page_last,
            heading_path=list(place.heading_path),
        )
        for ordinal, ((start, end), place, (first, last)) in enumerate(
            zip(spans, places, ranges, strict=True)
        )
    ]


def chunk_id(version_id: uuid.UUID, start: int, end: int) -> uuid.UUID:
    """The same span of the same version always has the same id."""
    digest = blake2b(version_id.bytes + struct.pack(">QQ", start, end), digest_size=16)
    return uuid.UUID(bytes=digest.digest())


def places_of(
    spans: Sequence[Span], *, pages: Sequence[Sequence[int]], headings: Sequence[Sequence[Any]]
) -> list[Place]:
    """Pages and heading path of each span, in one pass over the headings.

    The path is the one in force where the span's first words stand: a heading that opens the
    span counts.
    """
    page_starts = [start for _number, start, _end in pages]
    paths = heading_paths(headings)
    heading_starts = [start for _level, _title, start in headings]
    return [
        Place(
            page_first=_page_at(pages, page_starts, start),
            page_last=_page_at(pages, page_starts, max(start, end - 1)),
            heading_path=paths[bisect_right(heading_starts, start)],
        )
        for start, end in spans
    ]


def heading_paths(headings: Sequence[Sequence[Any]]) -> list[tuple[str, ...]]:
    """``paths[i]`` is the path in force after the first ``i`` headings.

    >>> heading_paths([[1, "A", 0], [2, "B", 9], [1, "C", 20]])
    [(), ('A',), ('A', 'B'), ('C',)]
    """
    paths: list[tuple[str, ...]] = [()]
    open_headings: list[tuple[int, str]] = []
    for level, title, _start in headings:
        while open_headings and open_headings[-1][0] >= level:
            open_headings.pop()
        open_headings.append((level, title))
        paths.append(tuple(title for _, title in open_headings))
    return paths


def _page_at(pages: Sequence[Sequence[int]], page_starts: Sequence[int], offset: int) -> int | None:
    index = bisect_right(page_starts, offset) - 1
    return pages[index][0] if index >= 0 else None
