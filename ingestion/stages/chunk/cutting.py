"""Cut a version's text into chunks: spans, ids, pages and heading paths."""

from __future__ import annotations

import struct
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any

from django.conf import settings

from ingestion.models import Chunk, DocumentVersion
from ingestion.stages.chunk.align import spans_along
from kb_project.llm.tokens import token_starts
from kb_project.text.regions import Region, as_json, from_json, within
from kb_project.text.splitting import (
    Offsets,
    Span,
    split_fixed,
    split_sentences,
    split_tokens,
    token_range,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk's pages and heading path."""

    page_first: int | None
    page_last: int | None
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The text that a version replaces, and its spans."""

    text: str
    spans: Sequence[Span]


def cut_up(version: DocumentVersion, earlier: Earlier | None = None) -> list[Chunk]:
    """Cut a version into chunks, along those of the earlier text if there is one.

    In that case the version remembers its spans, so that it is cut the same way if it comes back.
    """
    if earlier is not None and "spans" not in version.chunking:
        cut = partial(_between, version)
        spans = spans_along(earlier.text, earlier.spans, version.text, cut)
        version.chunking = version.chunking | {"spans": [list(span) for span in spans]}
    starts = token_starts(version.text)
    return build_chunks(version, spans_of(version, starts), starts)


def _between(version: DocumentVersion, first: int, last: int) -> list[Span]:
    """Cut a stretch of the text as if it were the whole."""
    text = version.text[first:last]
    headings = [start - first for _, _, start in version.headings if first <= start < last]
    spans = _cut(text, version.chunking, token_starts(text), headings)
    return [(first + start, first + end) for start, end in spans]


def spans_of(version: DocumentVersion, starts: Offsets) -> list[Span]:
    """The spans that the version's ``chunking`` asks for, with settings as defaults."""
    if "spans" in version.chunking:
        return [(start, end) for start, end in version.chunking["spans"]]
    headings = [start for _level, _title, start in version.headings]
    return _cut(version.text, version.chunking, starts, headings)


def _cut(
    text: str, chunking: Mapping[str, Any], starts: Offsets, headings: Sequence[int]
) -> list[Span]:
    strategy = chunking.get("strategy", settings.CHUNK_STRATEGY)
    size = chunking.get("size", settings.CHUNK_TOKENS)
    overlap = chunking.get("overlap", settings.CHUNK_OVERLAP)
    if strategy == "sentence":
        return split_sentences(text, starts=starts, size=size)
    if strategy == "fixed":
        return split_fixed(text, starts=starts, size=size, overlap=overlap)
    return split_tokens(text, starts=starts, size=size, overlap=overlap, headings=headings)


def build_chunks(version: DocumentVersion, spans: Sequence[Span], starts: Offsets) -> list[Chunk]:
    places = places_of(spans, pages=version.pages, headings=version.headings)
    regions = regions_of(spans, regions=from_json(version.regions))
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
            regions=as_json(inside),
        )
        for ordinal, ((start, end), place, (first, last), inside) in enumerate(
            zip(spans, places, ranges, regions, strict=True)
        )
    ]


def chunk_id(version_id: uuid.UUID, start: int, end: int) -> uuid.UUID:
    """Id of a span: always the same for the same span of the same version."""
    digest = blake2b(version_id.bytes + struct.pack(">QQ", start, end), digest_size=16)
    return uuid.UUID(bytes=digest.digest())


def places_of(
    spans: Sequence[Span], *, pages: Sequence[Sequence[int]], headings: Sequence[Sequence[Any]]
) -> list[Place]:
    """Pages and heading path of each span, in one pass over the headings.

    The path is that at the span's first character: a heading that opens the span counts.
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


def regions_of(spans: Sequence[Span], *, regions: Sequence[Region]) -> list[list[Region]]:
    """The regions of each span, with offsets from the span's start."""
    starts = [region.start for region in regions]
    ends = [region.end for region in regions]
    return [
        list(within(regions[bisect_right(ends, start) : bisect_left(starts, end)], start, end))
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
